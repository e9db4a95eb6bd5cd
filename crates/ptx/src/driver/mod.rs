//! A CUDA driver that is none: GPUs of this process, whose kernels are executed here.
//!
//! Built as a library, it takes the place of `libcuda.so.1`, and the program that opens it is the unmodified
//! one. What is asked of a stream is done later, in any order that CUDA allows, drawn with a seed. Under
//! the name of NVRTC the same library hands texts on to the real one and asks for PTX instead of code.
//!
//! `FITZROY_PTX_GPUS` describes the GPUs, see [`settings`].

mod abi;
mod abi_modules;
mod abi_streams;
mod compiler;
mod deed;
mod host;
pub mod settings;
mod state;
mod streams;
