//! Log densities that somebody else compiled, called through the interfaces of C that others use: one
//! function with nutpie's signature, or a library with BridgeStan's.
//!
//! Nothing can say whether a machine address or a library is what it claims to be: whoever names one
//! vouches for it, as for a plug-in.

mod functions;
mod library;
mod stan;

pub use functions::{Addresses, Functions};
pub use library::{Library, hash_of_file};
pub use stan::Stan;

use fitzroy_graph::Error;
use std::fmt;

/// Why a foreign function gave no numbers.
#[derive(Clone, Debug)]
pub enum Refused {
    /// There is no density at this point; another one may have one.
    Here(String),
    /// There will be none anywhere: whoever asks should stop.
    Ever(Error),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Here(why) => f.write_str(why),
            Refused::Ever(error) => error.fmt(f),
        }
    }
}
