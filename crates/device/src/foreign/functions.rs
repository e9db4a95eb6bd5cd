//! A log density behind one function of C, with the signature that nutpie takes.

use super::Refused;
use super::library::{Library, text};
use fitzroy_graph::{Error, ErrorKind, Result};
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// `int f(size_t dim, const double *x, double *gradient, double *logp, const void *user)`.
type DensityFn =
    unsafe extern "C" fn(usize, *const f64, *mut f64, *mut f64, *const c_void) -> c_int;

/// `int f(size_t dim, size_t n, const double *x, double *out, const void *user)`.
type ExpandFn = unsafe extern "C" fn(usize, usize, *const f64, *mut f64, *const c_void) -> c_int;

/// Machine addresses of functions of C, and of what is passed to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// The log density and its gradient:
    /// `int f(size_t dim, const double *x, double *gradient, double *logp, const void *user)`. It returns
    /// 0; a number above 0 where there is no density at x; below 0 where nothing can go on.
    pub density: usize,
    /// The last argument of the density; 0 for none.
    pub density_data: usize,
    /// What is recorded of a draw: `int f(size_t dim, size_t n, const double *x, double *out, const void
    /// *user)` fills `n` numbers. 0 for none: x itself is recorded.
    pub expand: usize,
    /// The last argument of `expand`; 0 for none.
    pub expand_data: usize,
}

/// A log density behind a function of C, which threads may call side by side.
pub struct Functions {
    density: DensityFn,
    density_data: *const c_void,
    expand: Option<ExpandFn>,
    expand_data: *const c_void,
    dim: usize,
    /// Keeps the functions where they are.
    _library: Option<Arc<Library>>,
}

// SAFETY: the functions may be called from any thread, side by side; their data are only read. That is
// part of the interface, and whoever names the addresses vouches for it.
unsafe impl Send for Functions {}
// SAFETY: as above.
unsafe impl Sync for Functions {}

/// The names that a library of functions may have.
const DENSITY: &str = "log_density";
const DIM: &str = "log_density_dim";
const NAMES: &str = "log_density_names";
const EXPAND: &str = "log_density_expand";

impl Functions {
    /// The functions at `addresses`, over `dim` coordinates. They and their data must be there as long as
    /// this lives.
    ///
    /// # Errors
    /// The address of the density is 0.
    pub fn at(addresses: Addresses, dim: usize) -> Result<Functions> {
        if addresses.density == 0 {
            let message = "the address of the log density is 0: there is no function";
            return Err(Error::usage(message));
        }
        let density = addresses.density as *const ();
        let expand = addresses.expand as *const ();
        Ok(Functions {
            // SAFETY: whoever names the addresses vouches for what stands there; it is not null.
            density: unsafe { std::mem::transmute::<*const (), DensityFn>(density) },
            density_data: addresses.density_data as *const c_void,
            // SAFETY: as above; null, which `Option` makes of 0, is none.
            expand: unsafe { std::mem::transmute::<*const (), Option<ExpandFn>>(expand) },
            expand_data: addresses.expand_data as *const c_void,
            dim,
            _library: None,
        })
    }

    /// The functions of a library, and the names of what is recorded: `log_density` and
    /// `size_t log_density_dim(void)`; perhaps `const char *log_density_names(void)`, separated by commas,
    /// and `log_density_expand`. They get no data.
    ///
    /// # Errors
    /// A function is missing, or there are names and no coordinates.
    pub fn of(library: &Arc<Library>) -> Result<(Functions, Option<String>)> {
        let path = library.path().display();
        if !library.has(DENSITY) || !library.has(DIM) {
            return Err(Error::usage(format!(
                "{path}: the library has neither the functions of BridgeStan (`bs_model_construct`, ...) \
                 nor `{DENSITY}` and `{DIM}`; docs/foreign-densities.md says what they are"
            )));
        }
        // SAFETY: the types are those that the documentation gives these names; the library stays open as
        // long as the functions are held.
        let (density, dim, names, expand) = unsafe {
            let dim: unsafe extern "C" fn() -> usize = library.function(DIM)?;
            let names: Option<unsafe extern "C" fn() -> *const c_char> =
                library.function(NAMES).ok();
            let density: DensityFn = library.function(DENSITY)?;
            let expand: Option<ExpandFn> = library.function(EXPAND).ok();
            (density, dim(), names.map(|names| text(names())), expand)
        };
        let functions = Functions {
            density,
            density_data: std::ptr::null(),
            expand,
            expand_data: std::ptr::null(),
            dim,
            _library: Some(Arc::clone(library)),
        };
        Ok((functions, names))
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Whether something else than the coordinates is recorded.
    pub fn expands(&self) -> bool {
        self.expand.is_some()
    }

    /// The log density at `x`, and its slopes into `gradient`.
    ///
    /// # Errors
    /// The function says so.
    ///
    /// # Panics
    /// If `x` or `gradient` have another length than [`dim`](Self::dim).
    pub fn log_density(
        &self,
        x: &[f64],
        gradient: &mut [f64],
    ) -> std::result::Result<f64, Refused> {
        assert_eq!((x.len(), gradient.len()), (self.dim, self.dim));
        let mut value = f64::NAN;
        // SAFETY: the arrays have `dim` elements, and the function is what the interface says.
        let code = unsafe {
            (self.density)(
                self.dim,
                x.as_ptr(),
                gradient.as_mut_ptr(),
                &mut value,
                self.density_data,
            )
        };
        answered(code, "log density").map(|()| value)
    }

    /// What is recorded of a draw at `x`, into `out`.
    ///
    /// # Errors
    /// The function says so.
    ///
    /// # Panics
    /// If `x` has another length than [`dim`](Self::dim), or without expand function `out`.
    pub fn expand(&self, x: &[f64], out: &mut [f64]) -> std::result::Result<(), Refused> {
        assert_eq!(x.len(), self.dim);
        let Some(expand) = self.expand else {
            out.copy_from_slice(x);
            return Ok(());
        };
        let (from, to) = (x.as_ptr(), out.as_mut_ptr());
        // SAFETY: the arrays have the lengths that are passed, and the function is what the interface says.
        let code = unsafe { expand(self.dim, out.len(), from, to, self.expand_data) };
        answered(code, "expand")
    }
}

/// What the code that a function returned means.
fn answered(code: c_int, which: &str) -> std::result::Result<(), Refused> {
    match code {
        0 => Ok(()),
        1.. => Err(Refused::Here(format!(
            "the {which} function returned {code}"
        ))),
        _ => Err(Refused::Ever(Error::new(
            ErrorKind::Numerics,
            format!("the {which} function returned {code}, by which it says that it cannot go on"),
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// −½ x², no density above 2, the end below −2; the slope of the data.
    unsafe extern "C" fn normal(
        dim: usize,
        x: *const f64,
        gradient: *mut f64,
        logp: *mut f64,
        user: *const c_void,
    ) -> c_int {
        // SAFETY: called with `dim` numbers, and a number as data.
        unsafe {
            let scale = *user.cast::<f64>();
            *logp = 0.0;
            for k in 0..dim {
                let z = *x.add(k) / scale;
                *logp -= 0.5 * z * z;
                *gradient.add(k) = -z / scale;
                match z {
                    z if z > 2.0 => return 3,
                    z if z < -2.0 => return -4,
                    _ => {}
                }
            }
        }
        0
    }

    unsafe extern "C" fn doubled(
        dim: usize,
        n: usize,
        x: *const f64,
        out: *mut f64,
        _: *const c_void,
    ) -> c_int {
        if n != dim {
            return -1;
        }
        // SAFETY: both have `dim` numbers.
        (0..dim).for_each(|k| unsafe { *out.add(k) = 2.0 * *x.add(k) });
        0
    }

    fn functions(scale: &f64) -> Functions {
        let addresses = Addresses {
            density: normal as *const () as usize,
            density_data: std::ptr::from_ref(scale) as usize,
            expand: doubled as *const () as usize,
            expand_data: 0,
        };
        Functions::at(addresses, 2).unwrap()
    }

    #[test]
    fn numbers_and_codes_of_a_function_come_through() {
        let scale = 2.0;
        let f = functions(&scale);
        let mut gradient = [0.0; 2];
        let value = f.log_density(&[2.0, -1.0], &mut gradient).unwrap();
        assert_eq!((value, gradient), (-0.625, [-0.5, 0.25]));
        let here = f.log_density(&[9.0, 0.0], &mut gradient).unwrap_err();
        assert!(
            matches!(&here, Refused::Here(why) if why.ends_with("returned 3")),
            "{here}"
        );
        let ever = f.log_density(&[-9.0, 0.0], &mut gradient).unwrap_err();
        assert!(matches!(&ever, Refused::Ever(_)), "{ever}");
        assert!(ever.to_string().contains("returned -4"), "{ever}");
        let mut out = [0.0; 2];
        f.expand(&[1.0, 3.0], &mut out).unwrap();
        assert_eq!(out, [2.0, 6.0]);
    }

    #[test]
    fn an_address_of_nothing_is_refused() {
        let error = Functions::at(Addresses::default(), 2).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}
