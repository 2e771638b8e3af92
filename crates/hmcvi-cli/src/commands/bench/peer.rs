//! Start another program that takes the same training step, and have it timed in turn with ours.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use hmcvi::config::RunSpec;
use hmcvi::family::{Acceptance, ChainSettings, Mass, StepSize};
use hmcvi_graph::BatchProduct;

use crate::arguments::{DeviceName, Machine, PrecisionName};
use crate::failure::Failure;

/// The same training step in JAX; carried along so that the comparison needs no other file.
const JAX: &str = include_str!("../../../../../bench/peers/jax_step.py");

/// The matrix products of a step in NumPy.
const BLAS: &str = include_str!("../../../../../bench/peers/blas_products.py");

/// A program that answers every line `go BATCH STEPS` with a JSON object whose `us_per_image` says how long
/// each image took in so many steps.
pub(super) struct Peer {
    pub(super) name: String,
    process: Child,
    replies: BufReader<ChildStdout>,
}

impl Peer {
    /// Any program that answers so, given as a command line.
    pub(super) fn command(line: &str) -> Result<Self, Failure> {
        let mut words = line.split_whitespace();
        let program = words.next().ok_or_else(|| Failure::Usage("`--against` names no program".into()))?;
        Peer::start(line, Command::new(program).args(words))
    }

    /// JAX on the same machine, with its loops as a scan and unrolled.
    pub(super) fn jax_in_both_shapes(
        python: &str,
        machine: &Machine,
        spec: &RunSpec,
    ) -> Result<[Self; 2], Failure> {
        Ok([Peer::jax(python, "scan", machine, spec)?, Peer::jax(python, "unroll", machine, spec)?])
    }

    fn jax(python: &str, shape: &str, machine: &Machine, spec: &RunSpec) -> Result<Self, Failure> {
        let (platform, precision) = match (machine.device, machine.precision) {
            (DeviceName::Cpu, _) => ("cpu", "highest"),
            (DeviceName::Cuda, PrecisionName::Tf32) => ("cuda", "tf32"),
            (DeviceName::Cuda, PrecisionName::F32) => ("cuda", "highest"),
        };
        let ChainSettings { hmc_steps, leapfrog_steps, .. } = spec.chain;
        let numbers = [
            ("--latent", spec.model.latent),
            ("--hmc-steps", hmc_steps),
            ("--leapfrog-steps", leapfrog_steps),
        ];
        let mut command = Command::new(python);
        command.env("JAX_PLATFORMS", platform);
        command.args(["-c", JAX, "--serve", "--loop", shape, "--precision", precision]);
        for (flag, number) in numbers {
            command.args([flag, &number.to_string()]);
        }
        Peer::start(&format!("jax ({shape})"), &mut command)
    }

    /// The matrix products of a step alone, in the BLAS of NumPy with kernels of its own choice or of another name.
    pub(super) fn blas(
        python: &str,
        kernels: Option<&str>,
        products: &[BatchProduct],
    ) -> Result<Self, Failure> {
        let products: Vec<_> = products.iter().map(|p| (p.is_sum, p.rows, p.cols, p.terms)).collect();
        let products = serde_json::to_string(&products).map_err(|why| Failure::Other(why.to_string()))?;
        let mut command = Command::new(python);
        command.args(["-c", BLAS, &products]);
        if let Some(kernels) = kernels {
            command.env("OPENBLAS_CORETYPE", kernels);
        }
        Peer::start(&kernels.map_or("blas".into(), |kernels| format!("blas ({kernels})")), &mut command)
    }

    fn start(name: &str, command: &mut Command) -> Result<Self, Failure> {
        let cannot = |why: std::io::Error| Failure::Usage(format!("cannot start `{name}`: {why}"));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(cannot)?;
        match process.stdout.take() {
            Some(output) => Ok(Peer { name: name.into(), process, replies: BufReader::new(output) }),
            None => Err(Failure::Other(format!("`{name}` has no output to read"))),
        }
    }

    /// Microseconds per image over some steps.
    pub(super) fn time(&mut self, batch: usize, steps: usize) -> Result<f64, Failure> {
        let mut line = String::new();
        let asked = match &mut self.process.stdin {
            Some(input) => writeln!(input, "go {batch} {steps}").is_ok(),
            None => false,
        };
        let answered = asked && self.replies.read_line(&mut line).is_ok();
        let reply = answered.then(|| serde_json::from_str::<serde_json::Value>(&line).ok()).flatten();
        reply.and_then(|r| r["us_per_image"].as_f64()).ok_or_else(|| {
            Failure::Other(format!(
                "`{}` did not answer with a time; does it run by itself (is jax or numpy installed)?",
                self.name
            ))
        })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The end of its input ends the program.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Refuses settings for which the peer would compute something else.
pub(super) fn check_comparable(spec: &RunSpec) -> Result<(), Failure> {
    let ChainSettings { partial_momentum, mass, acceptance, step_size, hmc_steps, .. } = spec.chain;
    let plain = !partial_momentum
        && mass == Mass::Global
        && acceptance == Acceptance::None
        && step_size == StepSize::Global;
    if (plain || hmc_steps == 0) && spec.model.hidden == [200, 200] {
        return Ok(());
    }
    Err(Failure::Usage(
        "`--peer`: the JAX program knows two hidden layers of 200, global mass and step size, neither partial \
         momentum nor acceptance; compare with `--preset hmcvi-13` or `--preset basic-20d`"
            .into(),
    ))
}
