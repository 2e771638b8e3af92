//! Start another program that takes the same training step, and have it timed in turn with ours.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use hmcvi::config::RunSpec;
use hmcvi::family::{Acceptance, ChainSettings, Mass, StepSize};

use crate::failure::Failure;

/// The same training step in JAX; carried along so that the comparison needs no other file.
const JAX: &str = include_str!("../../../../../bench/peers/jax_step.py");

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

    /// JAX, its loops as a scan or unrolled, with products in a precision.
    pub(super) fn jax(python: &str, shape: &str, precision: &str, spec: &RunSpec) -> Result<Self, Failure> {
        let ChainSettings { hmc_steps, leapfrog_steps, .. } = spec.chain;
        let numbers = [
            ("--latent", spec.model.latent),
            ("--hmc-steps", hmc_steps),
            ("--leapfrog-steps", leapfrog_steps),
        ];
        let mut command = Command::new(python);
        command.args(["-c", JAX, "--serve", "--loop", shape, "--precision", precision]);
        for (flag, number) in numbers {
            command.args([flag, &number.to_string()]);
        }
        Peer::start(&format!("jax ({shape})"), &mut command)
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
                "`{}` did not answer with a time; does it run by itself (for JAX: is jax installed)?",
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
