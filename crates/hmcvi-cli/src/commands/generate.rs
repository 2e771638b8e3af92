//! Print shell completions and manual pages.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::Context;
use crate::arguments::Arguments;
use crate::failure::Failure;

pub(crate) fn completions(context: &Context, shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "hmcvi", &mut script);
    context.terminal.print(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(context: &Context, name: Option<&str>) -> Result<(), Failure> {
    let mut program = Arguments::command();
    program.build();
    let command = match name {
        None => program,
        Some(name) => program.find_subcommand(name).cloned().ok_or_else(|| {
            let names: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
            Failure::Usage(format!("there is no command `{name}`"))
                .then(format!("commands: {}", names.join(", ")))
        })?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|e| Failure::Other(format!("cannot write the manual page: {e}")))?;
    context.terminal.print(&String::from_utf8_lossy(&page))
}
