//! Guard what a person sees: a line of progress in a real terminal, whatever its width, until Ctrl-C.
#![cfg(unix)]

mod common;

use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::Sandbox;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use vt100::Parser;

const ROWS: u16 = 60;

/// A training in a terminal of its own that goes on until it is stopped.
struct Session {
    _sandbox: Sandbox,
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    screen: Arc<Mutex<Screen>>,
}

impl Session {
    fn start(columns: u16) -> Self {
        let sandbox = Sandbox::new();
        let pty = native_pty_system().openpty(size(columns)).expect("a terminal");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_hmcvi"));
        command.args(["train", "hmcvi-4", "--out", "run", "--data", "embedded", "--threads", "1", "--set"]);
        // An epoch that ends leaves a line of its own, which in a narrow terminal looks like progress. It has a hundred
        // updates here, each of which takes about as long as a line of progress stays, so that none ends meanwhile.
        command.args(["data.limit=2000", "train.batch=20", "train.epochs=100000", "model.hidden=[500,500]"]);
        command.cwd(sandbox.path());
        command.env("TERM", "xterm-256color");
        let child = pty.slave.spawn_command(command).expect("the program starts");
        let screen = Arc::new(Mutex::new(Screen::new(columns)));
        let (mut output, seen) = (pty.master.try_clone_reader().expect("its output"), screen.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The read fails when the program has ended.
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                seen.lock().expect("no panic").show(&bytes[..count]);
            }
            seen.lock().expect("no panic").ended = true;
        });
        let keyboard = pty.master.take_writer().expect("its input");
        Session { _sandbox: sandbox, child, master: pty.master, keyboard, screen }
    }

    fn screen(&self) -> std::sync::MutexGuard<'_, Screen> {
        self.screen.lock().expect("the screen was never torn")
    }

    /// Waits until the line of progress was redrawn so many times.
    fn wait_for_redraws(&self, count: usize) {
        let before = self.screen().redraws;
        self.wait("redraws", |screen| screen.redraws >= before + count);
    }

    fn wait(&self, what: &str, done: impl Fn(&Screen) -> bool) {
        let begun = Instant::now();
        while !done(&self.screen()) {
            assert!(begun.elapsed() < Duration::from_secs(600), "no {what}:\n{}", self.screen().text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Changes the width while the program stands still and all it wrote is on the screen.
    fn resize(&self, columns: u16) {
        self.signal("STOP");
        self.wait("standstill", |_| self.stands_still());
        // What is written now comes after all that the program wrote; a bell is not shown.
        let (terminal, before) =
            (self.master.tty_name().expect("a terminal has a name"), self.screen().bells);
        let mut terminal = std::fs::OpenOptions::new().write(true).open(terminal).expect("it is open");
        terminal.write_all(b"\x07").expect("rung");
        self.wait("bell", |screen| screen.bells > before);
        self.screen().reflow(columns);
        self.master.resize(size(columns)).expect("resized");
        self.signal("CONT");
    }

    /// Whether all threads of the program are stopped.
    fn stands_still(&self) -> bool {
        let process = self.child.process_id().expect("it runs");
        let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else {
            // A system without such files: most need less.
            std::thread::sleep(Duration::from_millis(300));
            return true;
        };
        let state = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("stat")).ok();
        let stopped = |stat: String| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" T"));
        threads.flatten().filter_map(state).all(stopped)
    }

    fn signal(&self, name: &str) {
        let process = self.child.process_id().expect("it runs").to_string();
        let sent = std::process::Command::new("kill").args(["-s", name, &process]).status();
        assert!(sent.expect("kill").success());
    }

    /// Presses Ctrl-C and returns what is left on the screen.
    fn stop(mut self) -> (u32, Vec<String>) {
        self.keyboard.write_all(b"\x03").expect("pressed");
        self.wait("end", |screen| screen.ended);
        let code = self.child.wait().expect("it ended").exit_code();
        let rows = self.screen().rows();
        (code, rows)
    }
}

fn size(columns: u16) -> PtySize {
    PtySize { rows: ROWS, cols: columns, pixel_width: 0, pixel_height: 0 }
}

fn emulator(columns: u16) -> Parser {
    let positive = |n| NonZero::new(n).expect("terminals have a size");
    Parser::new(positive(ROWS), positive(columns), 0)
}

/// What a terminal shows, checked whenever a line is complete.
struct Screen {
    parser: Parser,
    columns: u16,
    /// The last line of progress, and how often there was a new one.
    live: String,
    redraws: usize,
    /// Bells so far, which the program never rings.
    bells: usize,
    /// A resize leaves the old line, wrapped, until it is redrawn.
    settled: bool,
    ended: bool,
}

impl Screen {
    fn new(columns: u16) -> Self {
        let parser = emulator(columns);
        Screen { parser, columns, live: String::new(), redraws: 0, bells: 0, settled: true, ended: false }
    }

    fn show(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.parser.process(&[*byte]);
            self.bells += usize::from(*byte == b'\x07');
            if *byte == b'\r' || *byte == b'\n' {
                self.check();
            }
        }
    }

    /// Whether the cursor stands in front of a line of progress, and no other is to be seen.
    fn check(&mut self) {
        let rows = self.rows();
        let live: Vec<usize> = (0..rows.len()).filter(|i| is_live(&rows[*i])).collect();
        let (row, column) = self.parser.screen().cursor_position();
        if let [only] = live[..]
            && only == usize::from(row)
            && rows[only] != self.live
            && rows[only].chars().count() < usize::from(self.columns)
        {
            self.live.clone_from(&rows[only]);
            self.redraws += 1;
            self.settled = true;
        }
        if self.settled {
            assert!(live.len() <= 1, "several lines of progress:\n{}", self.text());
            assert!(live.is_empty() || column == 0, "the cursor stays in front:\n{}", self.text());
            let widest = live.first().map_or(0, |row| rows[*row].chars().count());
            assert!(widest < usize::from(self.columns), "wider than the terminal:\n{}", self.text());
        }
    }

    /// Wraps all lines again as most terminals do when their width changes; the cursor stays at its character.
    fn reflow(&mut self, columns: u16) {
        let (row, _) = self.parser.screen().cursor_position();
        let rows: Vec<String> = self.rows();
        let mut parser = emulator(columns);
        parser.process(rows[..=usize::from(row)].join("\r\n").as_bytes());
        let below = rows[usize::from(row)].chars().count().saturating_sub(1) / usize::from(columns);
        parser.process(format!("\r\x1b[{below}A").repeat(usize::from(below > 0)).as_bytes());
        parser.process(b"\r");
        (self.parser, self.columns, self.settled) = (parser, columns, false);
    }

    fn rows(&self) -> Vec<String> {
        self.parser.screen().rows(0, self.columns).map(|row| row.trim_end().to_owned()).collect()
    }

    fn text(&self) -> String {
        self.rows().join("\n")
    }
}

/// A line of progress, whole or torn: lines of finished epochs have a validation bound.
fn is_live(row: &str) -> bool {
    (row.starts_with('[') || row.starts_with("epoch ") || row.contains("left "))
        && !row.contains("validation")
}

#[track_caller]
fn assert_clean_end((code, rows): (u32, Vec<String>)) {
    let text = rows.join("\n");
    assert_eq!(code, 130, "{text}");
    assert!(text.contains("interrupted in epoch") && text.contains("hmcvi resume run"), "{text}");
    assert!(!rows.iter().any(|row| is_live(row)), "torn progress:\n{text}");
    let words = ["epoch ", "note: ", "training ", "stopping; ", "error: ", "next: ", "^Cstopping"];
    let lines = rows.iter().filter(|row| words.iter().any(|word| row.starts_with(word))).count();
    assert!(lines >= 3, "{text}");
}

#[test]
fn progress_fits_eighty_columns_and_leaves_nothing_after_ctrl_c() {
    let session = Session::start(80);
    session.wait_for_redraws(5);
    let live = session.screen().live.clone();
    assert!(live.starts_with('[') && live.contains("epoch 1/100000") && live.contains("left"), "{live}");
    assert_clean_end(session.stop());
}

#[test]
fn progress_fits_forty_columns() {
    let session = Session::start(40);
    session.wait_for_redraws(5);
    let live = session.screen().live.clone();
    assert!(live.contains("epoch ") && live.contains("bound"), "{live}");
    assert_clean_end(session.stop());
}

#[test]
fn progress_survives_resizing() {
    let session = Session::start(120);
    session.wait_for_redraws(3);
    for columns in [50, 30, 100, 40] {
        session.resize(columns);
        session.wait_for_redraws(3);
    }
    assert_clean_end(session.stop());
}
