//! cuBLASLt: products of matrices by NVIDIA's library, opened while the program runs.

use super::compiler::Places;
use super::library::{functions, open};
use super::trouble::Trouble;
use super::work::{Math, Product};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::path::PathBuf;

functions! {
    /// What is used of cuBLASLt.
    Functions:
    create = "cublasLtCreate"(*mut *mut c_void);
    destroy = "cublasLtDestroy"(*mut c_void);
    desc_create = "cublasLtMatmulDescCreate"(*mut *mut c_void, c_int, c_int);
    desc_set = "cublasLtMatmulDescSetAttribute"(*mut c_void, c_int, *const c_void, usize);
    desc_destroy = "cublasLtMatmulDescDestroy"(*mut c_void);
    layout_create = "cublasLtMatrixLayoutCreate"(*mut *mut c_void, c_int, u64, u64, i64);
    layout_destroy = "cublasLtMatrixLayoutDestroy"(*mut c_void);
    preference_create = "cublasLtMatmulPreferenceCreate"(*mut *mut c_void);
    preference_set = "cublasLtMatmulPreferenceSetAttribute"(
        *mut c_void, c_int, *const c_void, usize
    );
    preference_destroy = "cublasLtMatmulPreferenceDestroy"(*mut c_void);
    heuristic = "cublasLtMatmulAlgoGetHeuristic"(
        *mut c_void, *mut c_void, *mut c_void, *mut c_void, *mut c_void, *mut c_void, *mut c_void,
        c_int, *mut Heuristic, *mut c_int
    );
    matmul = "cublasLtMatmul"(
        *mut c_void, *mut c_void, *const c_void, *const c_void, *mut c_void, *const c_void,
        *mut c_void, *const c_void, *const c_void, *mut c_void, *mut c_void, *mut c_void,
        *const [u64; 8], *mut c_void, usize, *mut c_void
    );
}

/// `cublasLtMatmulHeuristicResult_t`: 96 bytes.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Heuristic {
    algorithm: [u64; 8],
    workspace: usize,
    state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

/// Bytes the library may use for itself: what NVIDIA recommends for Hopper.
pub(super) const WORKSPACE: usize = 32 << 20;

// cudaDataType, cublasComputeType_t, cublasOperation_t, attributes (cublasLt.h).
const R_32F: c_int = 0;
const R_16BF: c_int = 14;
const COMPUTE_32F: c_int = 68;
const COMPUTE_32F_TF32: c_int = 77;
const TRANSPOSE: c_int = 1;
const DESC_TRANS: [c_int; 2] = [3, 4];
const PREF_WORKSPACE: c_int = 1;
const PREF_ALIGNMENT: [c_int; 4] = [5, 6, 7, 8];
const NOT_SUPPORTED: c_int = 15;

/// How a product of one shape is made: descriptor, layouts of the library's a, b and c, algorithm;
/// none where the library has no way.
type Way = Option<([*mut c_void; 4], Algorithm)>;

/// `cublasLtMatmulAlgo_t`.
type Algorithm = [u64; 8];

/// An opened cuBLASLt.
pub(super) struct Blas {
    functions: Functions,
    handle: *mut c_void,
    math: Math,
    ways: HashMap<(Product, [u32; 3]), Way>,
    pub(super) path: PathBuf,
}

fn check(call: &'static str, status: i32) -> Result<(), Trouble> {
    match status {
        0 => Ok(()),
        code => Err(Trouble::Driver {
            call,
            code,
            name: "a status of cuBLASLt".into(),
        }),
    }
}

impl Blas {
    /// Opens the first library that a driver of CUDA version `driver` serves; none if there is
    /// none, with a sentence about it.
    pub(super) fn find(places: &Places, driver: u32, math: Math) -> Result<Blas, String> {
        let mut rejected = Vec::new();
        for (path, major) in places.blas() {
            if major > driver {
                rejected.push(format!(
                    "{} is version {major}, the driver only takes CUDA {driver}",
                    path.display()
                ));
                continue;
            }
            match open(&path).and_then(|library| Self::of(library, path.clone(), math)) {
                Ok(blas) => return Ok(blas),
                Err(_) if path.components().count() == 1 => {}
                Err(trouble) => rejected.push(trouble.to_string()),
            }
        }
        let why = match rejected.is_empty() {
            true => String::new(),
            false => format!(" ({})", rejected.join("; ")),
        };
        Err(format!(
            "no cuBLASLt (libcublasLt.so.12) was found{why}: products of matrices are made by a \
             kernel of our own, which is several times slower; pip install nvidia-cublas-cu12, or \
             load the cluster's CUDA module"
        ))
    }

    fn of(library: libloading::Library, path: PathBuf, math: Math) -> Result<Blas, Trouble> {
        let functions = Functions::of(library, &path)?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointer is to memory of this function; a context is current.
        check("cublasLtCreate", unsafe { (functions.create)(&mut handle) })?;
        Ok(Blas {
            functions,
            handle,
            math,
            ways: HashMap::new(),
            path,
        })
    }

    /// Makes a product on a stream. False: the library cannot make this one.
    ///
    /// The library counts matrices by columns, so that ours are turned round to it: it is asked
    /// for cᵀ = bᵀ·aᵀ, whose first factor is our b.
    pub(super) fn product(
        &mut self,
        p: &Product,
        workspace: u64,
        stream: *mut c_void,
    ) -> Result<bool, Trouble> {
        let border = |at: u64| 1_u32 << at.trailing_zeros().min(8);
        let key = (Product { at: [0; 3], ..*p }, p.at.map(border));
        let way = match self.ways.get(&key) {
            Some(way) => *way,
            None => {
                let way = self.way(p, key.1)?;
                self.ways.insert(key, way);
                way
            }
        };
        let Some(([desc, a, b, c], algorithm)) = way else {
            return Ok(false);
        };
        let (alpha, beta) = (1.0_f32, if p.add { 1.0_f32 } else { 0.0 });
        let at = p.at.map(|at| at as *mut c_void);
        // SAFETY: the descriptors were made for this shape, the addresses are of arrays of it.
        let status = unsafe {
            (self.functions.matmul)(
                self.handle,
                desc,
                (&raw const alpha).cast(),
                at[1],
                a,
                at[0],
                b,
                (&raw const beta).cast(),
                at[2],
                c,
                at[2],
                c,
                &algorithm,
                workspace as *mut c_void,
                WORKSPACE,
                stream,
            )
        };
        check("cublasLtMatmul", status)?;
        Ok(true)
    }

    /// Finds how to make products of a shape.
    fn way(&self, p: &Product, borders: [u32; 3]) -> Result<Way, Trouble> {
        let f = &self.functions;
        let null = std::ptr::null_mut::<c_void>();
        let (compute, factor) = match self.math {
            Math::F32 => (COMPUTE_32F, R_32F),
            Math::Tf32 => (COMPUTE_32F_TF32, R_32F),
            Math::Bf16 => (COMPUTE_32F, R_16BF),
        };
        let result = if p.narrow { factor } else { R_32F };
        let [m, n, k] = p.size.map(|n| n as u64);
        let mut made = [null; 4];
        // SAFETY: the pointers are to memory of this function.
        let status = unsafe { (f.desc_create)(&mut made[0], compute, R_32F) };
        check("cublasLtMatmulDescCreate", status)?;
        for (which, turned) in DESC_TRANS.into_iter().zip([p.turned[1], p.turned[0]]) {
            let operation = if turned { TRANSPOSE } else { 0 };
            let at = (&raw const operation).cast();
            // SAFETY: the attribute is a 32-bit number.
            let status = unsafe { (f.desc_set)(made[0], which, at, 4) };
            check("cublasLtMatmulDescSetAttribute", status)?;
        }
        // By columns: rows are what lies side by side.
        let shape = |turned: bool, rows: u64, columns: u64| match turned {
            true => (rows, columns),
            false => (columns, rows),
        };
        let shapes = [
            (factor, shape(p.turned[1], k, n)),
            (factor, shape(p.turned[0], m, k)),
            (result, (n, m)),
        ];
        for (to, (kind, (rows, columns))) in made[1..].iter_mut().zip(shapes) {
            // SAFETY: as above.
            let status = unsafe { (f.layout_create)(to, kind, rows, columns, rows as i64) };
            check("cublasLtMatrixLayoutCreate", status)?;
        }
        let algorithm = self.algorithm(made, borders)?;
        Ok(algorithm.map(|algorithm| (made, algorithm)))
    }

    /// The algorithm that the library takes first for matrices at such borders; none if it has none.
    fn algorithm(
        &self,
        [desc, a, b, c]: [*mut c_void; 4],
        borders: [u32; 3],
    ) -> Result<Option<Algorithm>, Trouble> {
        let f = &self.functions;
        let mut preference = std::ptr::null_mut::<c_void>();
        // SAFETY: as above.
        let status = unsafe { (f.preference_create)(&mut preference) };
        check("cublasLtMatmulPreferenceCreate", status)?;
        let set = |which: c_int, at: *const c_void, size: usize| {
            // SAFETY: the attributes are of the sizes that are given.
            let status = unsafe { (f.preference_set)(preference, which, at, size) };
            check("cublasLtMatmulPreferenceSetAttribute", status)
        };
        let most = WORKSPACE as u64;
        set(PREF_WORKSPACE, (&raw const most).cast(), 8)?;
        let borders = [borders[1], borders[0], borders[2], borders[2]];
        for (which, border) in PREF_ALIGNMENT.into_iter().zip(borders) {
            set(which, (&raw const border).cast(), 4)?;
        }
        let (mut found, mut count) = (Heuristic::default(), 0);
        // SAFETY: there is room for the one result that is asked for.
        let status = unsafe {
            (f.heuristic)(
                self.handle,
                desc,
                a,
                b,
                c,
                c,
                preference,
                1,
                &mut found,
                &mut count,
            )
        };
        // SAFETY: it was made above.
        unsafe { (f.preference_destroy)(preference) };
        if status == NOT_SUPPORTED || (status == 0 && (count == 0 || found.state != 0)) {
            return Ok(None);
        }
        check("cublasLtMatmulAlgoGetHeuristic", status)?;
        Ok(Some(found.algorithm))
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: all of it was made here, and nothing that runs uses it.
        unsafe {
            for (made, _) in self.ways.values().flatten() {
                (self.functions.desc_destroy)(made[0]);
                for layout in &made[1..] {
                    (self.functions.layout_destroy)(*layout);
                }
            }
            (self.functions.destroy)(self.handle);
        }
    }
}
