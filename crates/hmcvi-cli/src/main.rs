//! Run the commands of `hmcvi`: read what was typed, do it, and turn what went wrong into a message and an
//! exit code.
#![forbid(unsafe_code)]

mod arguments;
mod commands;
mod events;
mod failure;
mod heat;
mod interrupt;
mod line;
mod output;
mod processes;
mod progress;
mod settings;
mod source;
mod terminal;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;

use crate::arguments::{Arguments, Command, Output};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::processes::Processes;
use crate::terminal::Terminal;

/// What every command is given.
struct Context {
    terminal: Arc<Terminal>,
    interrupt: Interrupt,
    processes: Processes,
}

impl Context {
    /// Says why the program ends. Others that work with this process have stopped at the same place after an
    /// interruption; anything else they may not know of.
    fn fail(&self, failure: &Failure) -> ExitCode {
        self.processes.let_the_first_speak();
        let code = failure.code();
        if self.processes.leads() || !failure.is_interruption() {
            self.terminal.error(failure);
        }
        if !failure.is_interruption() {
            self.processes.give_up(code);
        }
        ExitCode::from(code)
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    let terminal = Arc::new(Terminal::new(&arguments.output));
    let interrupt = Interrupt::install(&terminal);
    let processes = match Processes::join(&terminal, &arguments.command) {
        Ok(processes) => processes,
        // All processes have found the same.
        Err(failure) => {
            if !terminal.is_silent() {
                terminal.error(&failure);
            }
            return ExitCode::from(failure.code());
        }
    };
    let context = Context { terminal, interrupt, processes };
    match dispatch(&context, arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => context.fail(&failure),
    }
}

/// Answers `--help` and `--version`, and what cannot be understood: for programs as JSON, like every other error.
fn refuse(error: &clap::Error) -> ExitCode {
    let json = std::env::args_os().take_while(|a| a != "--").any(|a| a == "--json");
    if json && error.use_stderr() {
        Terminal::new(&Output { json, quiet: false, no_color: true }).error(&Failure::from(error));
    } else {
        // Nobody is left to tell if the output is closed.
        let _ = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn dispatch(context: &Context, command: Command) -> Result<(), Failure> {
    match command {
        Command::Quickstart(arguments) => commands::quickstart::run(context, &arguments),
        Command::Train(arguments) => commands::train::run(context, &arguments),
        Command::Resume(arguments) => commands::resume::run(context, &arguments),
        Command::Eval(arguments) => commands::eval::run(context, &arguments),
        Command::Diagnose(arguments) => commands::diagnose::run(context, &arguments),
        Command::Compare(arguments) => commands::compare::run(context, &arguments),
        Command::Report(arguments) => commands::report::run(context, &arguments),
        Command::Fit(arguments) => commands::fit::run(context, &arguments),
        Command::Sample(arguments) => commands::sample::run(context, &arguments),
        Command::Encode(arguments) => commands::encode::run(context, &arguments),
        Command::Hmc(arguments) => commands::hmc::run(context, &arguments),
        Command::Figures(arguments) => commands::figures::run(context, &arguments),
        Command::Presets(arguments) => commands::presets::run(context, &arguments),
        Command::Data(command) => commands::data::run(context, &command),
        Command::Config(command) => commands::config::run(context, &command),
        Command::Reproduce(command) => commands::reproduce::run(context, &command),
        Command::Sweep(arguments) => commands::sweep::run(context, &arguments),
        Command::Bench(command) => commands::bench::run(context, &command),
        Command::Doctor(arguments) => commands::doctor::run(context, &arguments),
        Command::Completions { shell } => commands::generate::completions(context, shell),
        Command::Man { command } => commands::generate::man(context, command.as_deref()),
    }
}
