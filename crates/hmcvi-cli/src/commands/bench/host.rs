//! Say on what a table was measured: processor, and versions of what ours is compared with.

use std::process::Command;

use serde::Serialize;

/// This machine.
#[derive(Serialize)]
pub(super) struct Host {
    pub(super) processor: String,
    pub(super) threads: usize,
    pub(super) instructions: &'static str,
    /// Versions of what ours is compared with.
    pub(super) peers: Option<String>,
}

impl Host {
    pub(super) fn find(threads: usize, peer: Option<&str>) -> Self {
        let instructions = if has_avx512() { "AVX-512" } else { "AVX2 or less" };
        Host { processor: processor(), threads, instructions, peers: peer.and_then(versions) }
    }
}

/// Kernels of OpenBLAS that are to be timed beside those that it chooses, because it does not know every new processor.
pub(super) fn other_kernels() -> Option<&'static str> {
    has_avx512().then_some("SkylakeX")
}

fn has_avx512() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512f");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

fn processor() -> String {
    let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = about.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or(std::env::consts::ARCH.into(), |(_, name)| name.to_owned())
}

fn versions(python: &str) -> Option<String> {
    let words = "import jax, numpy; print(f'JAX {jax.__version__}, NumPy {numpy.__version__}')";
    let output = Command::new(python).args(["-c", words]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
