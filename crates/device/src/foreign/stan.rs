//! A Stan program that BridgeStan compiled, or any library with its interface.

use super::Refused;
use super::library::{Library, text};
use fitzroy_graph::{Error, Result};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Model = *mut c_void;
type Generator = *mut c_void;
type Complaint = *mut *mut c_char;

/// The functions of BridgeStan 2 that are called.
struct Table {
    destruct: unsafe extern "C" fn(Model),
    free_complaint: unsafe extern "C" fn(*mut c_char),
    info: unsafe extern "C" fn(*const c_void) -> *const c_char,
    names: unsafe extern "C" fn(*const c_void, bool, bool) -> *const c_char,
    unc_num: unsafe extern "C" fn(*const c_void) -> c_int,
    gradient: unsafe extern "C" fn(
        *const c_void,
        bool,
        bool,
        *const f64,
        *mut f64,
        *mut f64,
        Complaint,
    ) -> c_int,
    constrain: unsafe extern "C" fn(
        *const c_void,
        bool,
        bool,
        *const f64,
        *mut f64,
        Generator,
        Complaint,
    ) -> c_int,
    /// Makes and removes a generator; without them nothing is drawn in `generated quantities`.
    generator: Option<(
        unsafe extern "C" fn(c_uint, Complaint) -> Generator,
        unsafe extern "C" fn(Generator),
    )>,
}

/// A Stan program with its data.
pub struct Stan {
    table: Table,
    model: Model,
    dim: usize,
    /// Numbers that are recorded of a draw.
    recorded: usize,
    /// One call at a time, for a library that was not built for threads.
    turns: Option<Mutex<()>>,
    /// Keeps the functions where they are.
    _library: Arc<Library>,
}

// SAFETY: BridgeStan's model is not changed by calls, which threads may make side by side if the library
// was built with STAN_THREADS; for others `turns` lets one in at a time.
unsafe impl Send for Stan {}
// SAFETY: as above.
unsafe impl Sync for Stan {}

/// By this a library is known to have BridgeStan's interface.
const CONSTRUCT: &str = "bs_model_construct";

impl Stan {
    /// Whether a library has this interface.
    pub fn is_in(library: &Library) -> bool {
        library.has(CONSTRUCT)
    }

    /// The program of a library with `data`, a JSON text; `seed` is that of its `transformed data`.
    ///
    /// # Errors
    /// A function is missing; the program does not take the data, in its words.
    pub fn new(library: &Arc<Library>, data: Option<&str>, seed: u32) -> Result<Stan> {
        let nul = |_| Error::data("the data of the program hold a zero byte: they are no JSON");
        let data = data.map(CString::new).transpose().map_err(nul)?;
        // SAFETY: the types are those of BridgeStan 2, which the library says it has; it stays open as long
        // as the table is held.
        let (table, construct) = unsafe {
            let construct: unsafe extern "C" fn(*const c_char, c_uint, Complaint) -> Model =
                library.function(CONSTRUCT)?;
            let generator = match library.has("bs_rng_construct") {
                true => Some((
                    library.function("bs_rng_construct")?,
                    library.function("bs_rng_destruct")?,
                )),
                false => None,
            };
            let table = Table {
                destruct: library.function("bs_model_destruct")?,
                free_complaint: library.function("bs_free_error_msg")?,
                info: library.function("bs_model_info")?,
                names: library.function("bs_param_names")?,
                unc_num: library.function("bs_param_unc_num")?,
                gradient: library.function("bs_log_density_gradient")?,
                constrain: library.function("bs_param_constrain")?,
                generator,
            };
            (table, construct)
        };
        let mut complaint = null_mut();
        let data = data.as_ref().map_or(std::ptr::null(), |data| data.as_ptr());
        // SAFETY: `data` is null or a text, and there is a place for the complaint.
        let model = unsafe { construct(data, seed, &mut complaint) };
        // SAFETY: the complaint is one that the library made, or null.
        let why = unsafe { taken(&table, complaint) };
        if model.is_null() {
            let path = library.path().display();
            return Err(Error::data(format!(
                "{path}: the program was not made: {why}"
            )));
        }
        // SAFETY: the model is whole.
        let (dim, info) = unsafe { ((table.unc_num)(model), text((table.info)(model))) };
        let mut stan = Stan {
            table,
            model,
            dim: usize::try_from(dim).unwrap_or(0),
            recorded: 0,
            turns: (!info.contains("STAN_THREADS=true")).then(|| Mutex::new(())),
            _library: Arc::clone(library),
        };
        stan.recorded = stan.names().split(',').filter(|n| !n.is_empty()).count();
        Ok(stan)
    }

    /// Number of unconstrained coordinates.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Whether threads have to take turns, because the library was built without `STAN_THREADS`.
    pub fn takes_turns(&self) -> bool {
        self.turns.is_some()
    }

    /// Names of what [`constrain`](Self::constrain) gives, separated by commas: parameters, transformed
    /// parameters and generated quantities, `theta.1.2` for the element \[1, 2\], the first index running
    /// fastest.
    pub fn names(&self) -> String {
        let _turn = self.turn();
        // SAFETY: the model is whole, and the text its own.
        unsafe { text((self.table.names)(self.model, true, self.generates())) }
    }

    fn generates(&self) -> bool {
        self.table.generator.is_some()
    }

    fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        let turns = self.turns.as_ref()?;
        Some(turns.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The log density at `x` without its constants, Jacobians of the transforms included, and its slopes
    /// into `gradient`.
    ///
    /// # Errors
    /// The program rejects the point, in its words.
    ///
    /// # Panics
    /// If `x` or `gradient` have another length than [`dim`](Self::dim).
    pub fn log_density(
        &self,
        x: &[f64],
        gradient: &mut [f64],
    ) -> std::result::Result<f64, Refused> {
        assert_eq!((x.len(), gradient.len()), (self.dim, self.dim));
        let _turn = self.turn();
        let (mut value, mut complaint) = (f64::NAN, null_mut());
        // SAFETY: the arrays have `dim` elements; the model is whole.
        let code = unsafe {
            (self.table.gradient)(
                self.model,
                true,
                true,
                x.as_ptr(),
                &mut value,
                gradient.as_mut_ptr(),
                &mut complaint,
            )
        };
        self.answered(code, complaint).map(|()| value)
    }

    /// What is recorded of a draw at `x`, into `out`, which has an element for each of the
    /// [`names`](Self::names). What the program draws itself depends on `seed` alone.
    ///
    /// # Errors
    /// The program rejects the point, in its words.
    ///
    /// # Panics
    /// If `x` has another length than [`dim`](Self::dim), or `out` than there are names.
    pub fn constrain(
        &self,
        x: &[f64],
        seed: u32,
        out: &mut [f64],
    ) -> std::result::Result<(), Refused> {
        assert_eq!((x.len(), out.len()), (self.dim, self.recorded));
        let _turn = self.turn();
        let mut complaint = null_mut();
        let generator = match &self.table.generator {
            // SAFETY: there is a place for the complaint.
            Some((construct, _)) => unsafe { construct(seed, &mut complaint) },
            None => null_mut(),
        };
        if self.generates() && generator.is_null() {
            return self.answered(-1, complaint);
        }
        // SAFETY: `x` has `dim` elements and `out` one for each name; the generator is whole, or null where
        // none is needed.
        let code = unsafe {
            (self.table.constrain)(
                self.model,
                true,
                self.generates(),
                x.as_ptr(),
                out.as_mut_ptr(),
                generator,
                &mut complaint,
            )
        };
        if let Some((_, destruct)) = &self.table.generator {
            // SAFETY: it was made above, and is used no more.
            unsafe { destruct(generator) };
        }
        self.answered(code, complaint)
    }

    fn answered(&self, code: c_int, complaint: *mut c_char) -> std::result::Result<(), Refused> {
        // SAFETY: the complaint is one that the library made, or null.
        let why = unsafe { taken(&self.table, complaint) };
        match (code, why.is_empty()) {
            (0, _) => Ok(()),
            (_, true) => Err(Refused::Here(format!("the program returned {code}"))),
            _ => Err(Refused::Here(why)),
        }
    }
}

impl Drop for Stan {
    fn drop(&mut self) {
        // SAFETY: it was made by this library, and nobody calls it any more.
        unsafe { (self.table.destruct)(self.model) };
    }
}

/// The words of a complaint, which is given back.
///
/// # Safety
/// It was made by the library of `table`, or is null.
unsafe fn taken(table: &Table, complaint: *mut c_char) -> String {
    if complaint.is_null() {
        return String::new();
    }
    // SAFETY: as the caller says; it is not read after it was given back.
    unsafe {
        let words = text(complaint);
        (table.free_complaint)(complaint);
        words.trim().to_string()
    }
}
