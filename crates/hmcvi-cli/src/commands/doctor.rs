//! Describe what this machine has, and test whether it computes correctly.

use clap::Args;
use hmcvi::device::Device;
use serde::Serialize;

use crate::Context;
use crate::arguments::{DeviceName, Machine, PrecisionName, SumsName};
use crate::failure::Failure;
use crate::settings::open_device;

/// What was typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

/// What was found.
#[derive(Serialize)]
struct Report {
    version: &'static str,
    cpu: Found,
    cuda: Found,
}

/// What was found out about a device.
#[derive(Serialize)]
struct Found {
    works: bool,
    /// What it is, or what is missing.
    description: String,
    /// Largest relative difference of parameters after 20 updates from those on one thread of the CPU.
    difference: Option<f64>,
}

/// Larger differences are mistakes, not rounding: TF32 has ten bits, and 20 updates add up.
const MOST: f64 = 0.05;

pub(crate) fn run(context: &Context, _: &Arguments) -> Result<(), Failure> {
    let machine =
        |device| Machine { threads: 0, device, precision: PrecisionName::F32, sums: SumsName::Auto };
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        cpu: examine(open_device(&machine(DeviceName::Cpu))),
        cuda: examine(open_device(&machine(DeviceName::Cuda))),
    };
    if context.terminal.json {
        context.terminal.print_json(&report)?;
    } else {
        let line = |name: &str, found: &Found| {
            let difference = found.difference.map_or(String::new(), |d| {
                format!("; self-test: parameters agree with one CPU thread to {d:.1e}")
            });
            format!(
                "{name:<5} {} {}{difference}\n",
                if found.works { "works:" } else { "no:" },
                found.description
            )
        };
        let lines = line("cpu", &report.cpu) + &line("cuda", &report.cuda);
        context.terminal.print(&format!("hmcvi {}\n{lines}", report.version))?;
    }
    match report.cpu.works {
        true => Ok(()),
        false => Err(Failure::Unsatisfactory("the CPU does not compute correctly".into())),
    }
}

fn examine(device: Result<Device, Failure>) -> Found {
    let missing = |why: String| Found { works: false, description: why, difference: None };
    let device = match device {
        Ok(device) => device,
        Err(why) => {
            let (message, next) = why.parts();
            return missing(next.map_or(message.clone(), |next| format!("{message}; {next}")));
        }
    };
    match hmcvi::train::self_test(&device) {
        Ok(difference) => {
            Found { works: difference < MOST, description: device.describe(), difference: Some(difference) }
        }
        Err(why) => missing(format!("{}: {why}", device.describe())),
    }
}
