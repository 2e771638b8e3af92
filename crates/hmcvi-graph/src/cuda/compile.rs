//! Compile generated kernels with the CUDA run-time compiler, and keep the results on disk.

use std::ffi::{CStr, CString, c_char, c_int};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::OnceLock;

use libloading::Library;

use super::error::CudaError;
use super::library::{LOOKED_IN, load};

type Program = *mut std::ffi::c_void;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Read = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;

/// The run-time compiler. Loaded when it is first needed, from where CUDA is usually installed.
pub(super) struct Compiler {
    library: Library,
    version: (c_int, c_int),
}

/// Names that are looked for, newest first.
const NAMES: [&str; 4] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11", "libnvrtc.so"];

impl Compiler {
    /// The compiler of this process.
    pub(super) fn get() -> Result<&'static Compiler, CudaError> {
        static COMPILER: OnceLock<Option<Compiler>> = OnceLock::new();
        COMPILER
            .get_or_init(Compiler::load)
            .as_ref()
            .ok_or_else(|| CudaError::NoCompiler { looked_in: LOOKED_IN.into() })
    }

    fn load() -> Option<Compiler> {
        load(&NAMES).find_map(|library| {
            let mut version = (0, 0);
            // SAFETY: the function has this signature in all versions.
            unsafe {
                let f = library.get::<Version>(b"nvrtcVersion\0").ok()?;
                (f(&mut version.0, &mut version.1) == 0).then_some(())?;
            }
            Some(Compiler { library, version })
        })
    }

    /// Version of the compiler.
    pub(super) fn version(&self) -> String {
        format!("{}.{}", self.version.0, self.version.1)
    }

    /// Machine code of `source` for an architecture such as `sm_90a`, from the cache if it is there.
    pub(super) fn machine_code(
        &self,
        source: &str,
        architecture: &str,
        cache: Option<&Path>,
    ) -> Result<Vec<u8>, CudaError> {
        let mut hash = DefaultHasher::new();
        (source, architecture, self.version).hash(&mut hash);
        let file = cache.map(|folder| folder.join(format!("{:016x}.cubin", hash.finish())));
        if let Some(code) = file.as_ref().and_then(|f| read(f, source)) {
            return Ok(code);
        }
        let code = self.compile(source, architecture)?;
        if let Some(file) = file {
            // A cache that cannot be written costs time, nothing else.
            let _ = write(&file, source, &code);
        }
        Ok(code)
    }

    fn compile(&self, source: &str, architecture: &str) -> Result<Vec<u8>, CudaError> {
        let text = CString::new(source).map_err(|e| CudaError::Compile(e.to_string()))?;
        let options = [format!("--gpu-architecture={architecture}"), "-std=c++17".into()];
        let options: Vec<CString> = options.into_iter().filter_map(|o| CString::new(o).ok()).collect();
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        let missing = |e: libloading::Error| CudaError::Compile(e.to_string());
        // SAFETY: signatures are those of nvrtc.h; strings end in zero and outlive the calls; buffers have
        // the sizes that the compiler asks for.
        unsafe {
            let create = self.library.get::<Create>(b"nvrtcCreateProgram\0").map_err(missing)?;
            let compile = self.library.get::<Compile>(b"nvrtcCompileProgram\0").map_err(missing)?;
            let destroy = self.library.get::<Destroy>(b"nvrtcDestroyProgram\0").map_err(missing)?;
            let mut program: Program = std::ptr::null_mut();
            let none = std::ptr::null();
            let status = create(&mut program, text.as_ptr(), c"program.cu".as_ptr(), 0, none, none);
            if status != 0 {
                return Err(CudaError::Compile(format!("nvrtcCreateProgram gives status {status}")));
            }
            let status = compile(program, pointers.len() as c_int, pointers.as_ptr());
            let result = if status == 0 {
                self.read(program, b"nvrtcGetCUBINSize\0", b"nvrtcGetCUBIN\0")
            } else {
                let log = self.read(program, b"nvrtcGetProgramLogSize\0", b"nvrtcGetProgramLog\0")?;
                let log = CStr::from_bytes_until_nul(&log).map(|l| l.to_string_lossy().into_owned());
                Err(CudaError::Compile(log.unwrap_or_else(|_| format!("status {status}"))))
            };
            destroy(&mut program);
            result
        }
    }

    /// # Safety
    /// The names must be those of a pair of functions that give the size and content of a result.
    unsafe fn read(&self, program: Program, size: &[u8], content: &[u8]) -> Result<Vec<u8>, CudaError> {
        let missing = |e: libloading::Error| CudaError::Compile(e.to_string());
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut len = 0;
            self.library.get::<Size>(size).map_err(missing)?(program, &mut len);
            let mut bytes = vec![0u8; len];
            self.library.get::<Read>(content).map_err(missing)?(program, bytes.as_mut_ptr().cast());
            Ok(bytes)
        }
    }
}

/// Cached code, if the file was made from this very source.
fn read(file: &Path, source: &str) -> Option<Vec<u8>> {
    let bytes = std::fs::read(file).ok()?;
    let (len, rest) = bytes.split_first_chunk::<8>()?;
    let (text, code) = rest.split_at_checked(u64::from_le_bytes(*len) as usize)?;
    (text == source.as_bytes()).then(|| code.to_vec())
}

/// Writes beside the file and renames, so that readers never see half of it.
fn write(file: &Path, source: &str, code: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let bytes = [&(source.len() as u64).to_le_bytes()[..], source.as_bytes(), code].concat();
    let beside = file.with_extension(format!("{}.part", std::process::id()));
    std::fs::write(&beside, bytes)?;
    std::fs::rename(beside, file)
}
