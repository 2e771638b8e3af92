//! Time the HMCVI training step, in turn with plain matrix products and with the JAX peer.
//!
//! `cargo bench --bench step -- --peer python3` alternates repetitions of this engine, of the `gemm`
//! crate at the same number of FLOP, and of `bench/peers/jax_step.py` (scan and unrolled), and prints
//! times per image and ratios. Times: whole training steps (draw images, bound, gradient, Adam) on
//! warm programs; the data are made beforehand.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, unreachable_pub, missing_docs)]

#[cfg(feature = "cuda")]
mod gpu;
mod model;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use hmcvi_graph::{CpuOptions, DataSet, Executable, Instructions, Part, Run, Split, Store, Times};
use hmcvi_yardstick::plain_products;
use model::Sizes;

const USAGE: &str = "\
usage: cargo bench --bench step -- [--batch 100,500] [--hmc-steps 3] [--leapfrog-steps 4]
  [--threads 2] [--instructions fastest|avx2] [--tile-rows N] [--split best|shards|rows] [--times] [--rounds 7] [--peer PYTHON] [--peer-script jax_step.py] [--serve]
  [--json] [--list] [--graphviz]
with the feature cuda: [--device cuda] [--precision tf32|f32] [--row-tiles N] [--cluster N]
  [--cache FOLDER] [--jobs N] [--trace] [--cuda-source]";

struct Arguments {
    batches: Vec<usize>,
    sizes: Sizes,
    threads: usize,
    tile_rows: Option<usize>,
    instructions: Instructions,
    split: Split,
    times: bool,
    rounds: usize,
    peer: Option<String>,
    serve: bool,
    script: String,
    json: bool,
    list: bool,
    graphviz: bool,
    cuda: bool,
    cuda_source: bool,
    exact: bool,
    row_tiles: usize,
    cluster: usize,
    cache: Option<String>,
    trace: bool,
    jobs: usize,
}

fn parse() -> Result<Arguments, String> {
    let mut a = Arguments {
        batches: vec![100, 500],
        sizes: Sizes::paper(3, 4),
        threads: 2,
        tile_rows: None,
        instructions: Instructions::Fastest,
        split: Split::Best,
        times: false,
        rounds: 7,
        peer: None,
        serve: false,
        script: concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/peers/jax_step.py").into(),
        json: false,
        list: false,
        graphviz: false,
        cuda: false,
        cuda_source: false,
        exact: false,
        row_tiles: 0,
        cluster: 0,
        cache: None,
        trace: false,
        jobs: 1,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let number = |text: String| text.parse::<usize>().map_err(|_| format!("{text} is not a number"));
        match word.as_str() {
            "--batch" => {
                a.batches = value()?.split(',').map(|t| number(t.into())).collect::<Result<_, _>>()?
            }
            "--hmc-steps" => a.sizes.hmc_steps = number(value()?)?,
            "--leapfrog-steps" => a.sizes.leapfrog_steps = number(value()?)?,
            "--threads" => a.threads = number(value()?)?,
            "--tile-rows" => a.tile_rows = Some(number(value()?)?),
            "--instructions" => {
                a.instructions = match value()?.as_str() {
                    "fastest" => Instructions::Fastest,
                    "avx2" => Instructions::Avx2,
                    other => return Err(format!("--instructions {other}: fastest or avx2")),
                }
            }
            "--split" => {
                a.split = match value()?.as_str() {
                    "best" => Split::Best,
                    "shards" => Split::Shards,
                    "rows" => Split::Rows,
                    other => return Err(format!("--split {other}: best, shards or rows")),
                }
            }
            "--times" => a.times = true,
            "--rounds" => a.rounds = number(value()?)?.max(1),
            "--peer" => a.peer = Some(value()?),
            "--serve" => a.serve = true,
            "--peer-script" => a.script = value()?,
            "--device" => a.cuda = value()? == "cuda",
            "--precision" => a.exact = value()? == "f32",
            "--row-tiles" => a.row_tiles = number(value()?)?,
            "--cluster" => a.cluster = number(value()?)?,
            "--cache" => a.cache = Some(value()?),
            "--jobs" => a.jobs = number(value()?)?,
            "--trace" => a.trace = true,
            "--cuda-source" => a.cuda_source = true,
            "--json" => a.json = true,
            "--list" => a.list = true,
            "--graphviz" => a.graphviz = true,
            // Cargo adds this to all benchmarks.
            "--bench" => {}
            _ => return Err(format!("unknown argument {word}")),
        }
    }
    Ok(a)
}

fn main() {
    let arguments = parse().unwrap_or_else(|why| {
        eprintln!("{why}\n{USAGE}");
        std::process::exit(2)
    });
    let program = model::training_step(arguments.sizes);
    if arguments.list {
        print!("{program}");
    } else if arguments.graphviz {
        print!("{}", program.graphviz());
    } else if arguments.serve {
        serve(&arguments, &program);
    } else if arguments.cuda || arguments.cuda_source {
        on_gpu(&arguments, &program);
    } else {
        for &batch in &arguments.batches {
            measure(&arguments, &program, batch);
        }
    }
}

/// Answers each line "go BATCH STEPS" with the time of so many steps, as the peer script does; any
/// other line ends it.
fn serve(arguments: &Arguments, program: &hmcvi_graph::Program) {
    let mut ready: HashMap<usize, Ours> = HashMap::new();
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["go", batch, steps] = words[..] else { return };
        let (batch, steps) = (batch.parse().unwrap(), steps.parse().unwrap());
        let options = cpu_options(arguments, batch);
        let ours =
            ready.entry(batch).or_insert_with(|| Ours::new(arguments.sizes, program.on_cpu(options), batch));
        println!("{}", serde_json::json!({"us_per_image": ours.time(steps) * 1e6 / batch as f64}));
    }
}

fn cpu_options(arguments: &Arguments, batch: usize) -> CpuOptions {
    let Arguments { threads, instructions, split, .. } = *arguments;
    CpuOptions { threads, instructions, split, ..CpuOptions::for_rows(batch) }
}

#[cfg(feature = "cuda")]
fn on_gpu(arguments: &Arguments, program: &hmcvi_graph::Program) {
    gpu::measure(arguments, program);
}

#[cfg(not(feature = "cuda"))]
fn on_gpu(_: &Arguments, _: &hmcvi_graph::Program) {
    eprintln!("this needs the feature cuda: cargo bench --features cuda --bench step -- --device cuda");
}

/// Seconds that one repetition should take.
const REPETITION: f64 = 0.7;

fn measure(arguments: &Arguments, program: &hmcvi_graph::Program, batch: usize) {
    let flop = program.cost().product_flop_per_row as f64;
    let mut options = cpu_options(arguments, batch);
    options.tile_rows = arguments.tile_rows.unwrap_or(options.tile_rows);
    let mut ours = Ours::new(arguments.sizes, program.on_cpu(options), batch);
    let mut peers: Vec<Peer> = match &arguments.peer {
        Some(python) => ["scan", "unroll"].map(|l| Peer::start(python, l, arguments, "highest")).into(),
        None => Vec::new(),
    };
    let steps = (REPETITION / ours.time(2)).ceil() as usize;
    for peer in &mut peers {
        peer.time(batch, 2);
    }
    let (mut own, mut plain, mut theirs) = (Vec::new(), Vec::new(), vec![Vec::new(); peers.len()]);
    for round in 0..arguments.rounds {
        own.push(ours.time(steps) * 1e6 / batch as f64);
        plain.push(plain_products(arguments.threads));
        for (peer, times) in peers.iter_mut().zip(&mut theirs) {
            times.push(peer.time(batch, steps));
        }
        eprint!("\rbatch {batch}: round {} of {}", round + 1, arguments.rounds);
    }
    eprintln!();
    let us = median(&own);
    let gflops: Vec<f64> = own.iter().map(|us| flop / us / 1e3).collect();
    let fraction = median(&ratios(&gflops, &plain));
    let ratio: Vec<f64> = theirs.iter().map(|times| median(&ratios(times, &own))).collect();
    if arguments.json {
        let peer: serde_json::Map<String, serde_json::Value> = peers
            .iter()
            .zip(&theirs)
            .zip(&ratio)
            .map(|((p, times), r)| {
                (p.name.into(), serde_json::json!({"us_per_image": median(times), "ratio": r}))
            })
            .collect();
        let Sizes { hmc_steps, leapfrog_steps, latent, .. } = arguments.sizes;
        let record = serde_json::json!({
            "batch": batch, "hmc_steps": hmc_steps, "leapfrog_steps": leapfrog_steps, "latent": latent,
            "threads": arguments.threads, "tile_rows": ours.executable.options().tile_rows,
            "us_per_image": us, "us_per_image_best": least(&own), "flop_per_image": flop,
            "gflops": median(&gflops), "plain_gflops": median(&plain), "fraction_of_plain": fraction,
            "bytes": ours.executable.bytes(), "bound": ours.bound(), "peers": peer,
        });
        println!("{record}");
        return;
    }
    println!(
        "batch {batch}: {us:.1} us per image (best {:.1}), {:.1} GFLOP/s of {:.1} in plain products ({:.0}%), {:.1} MB, bound {:.2}",
        least(&own),
        median(&gflops),
        median(&plain),
        100.0 * fraction,
        ours.executable.bytes() as f64 / 1e6,
        ours.bound(),
    );
    if arguments.times {
        print_times(&mut ours, steps);
    }
    for ((peer, times), r) in peers.iter().zip(&theirs).zip(&ratio) {
        let (name, us, best) = (peer.name, median(times), least(times));
        println!("  {name}: {us:.1} us per image (best {best:.1}), {r:.2} times our time");
    }
}

/// Where the time of a step goes: for each part what it took, and how long threads were at work in it.
fn print_times(ours: &mut Ours, steps: usize) {
    ours.executable.measure();
    let all = ours.time(steps) * 1e6;
    let Times { parts, busy } = ours.executable.times();
    let us = |seconds: f64| seconds * 1e6 / steps as f64;
    print!("  of {all:.0} us:");
    for part in Part::ALL {
        let times: Vec<f64> = busy.iter().map(|thread| us(thread[part as usize])).collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let most = times.iter().copied().fold(0.0, f64::max);
        print!(" {part:?} {:.0} (at work: mean {mean:.0}, most {most:.0});", us(parts[part as usize]));
    }
    println!(" other {:.0}", all - us(parts.iter().sum()));
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Ratios of neighbouring repetitions: what slows the machine down for a while slows both.
fn ratios(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a / b).collect()
}

const IMAGES: usize = 10_000;

/// Synthetic images, a fifth of whose pixels are not black.
fn images(sizes: Sizes) -> Vec<u8> {
    let mut uniform = vec![0f32; 2 * IMAGES * sizes.pixels];
    let key = hmcvi_graph::random::Key { seed: 3, stream: 0, step: 0, row: 0 };
    hmcvi_graph::random::uniform(key, &mut uniform);
    let (lit, byte) = uniform.split_at(IMAGES * sizes.pixels);
    lit.iter().zip(byte).map(|(l, b)| if *l < 0.19 { (b * 255.0) as u8 + 1 } else { 0 }).collect()
}

/// Images of a batch.
fn index(batch: usize) -> Vec<u32> {
    (0..batch).map(|i| ((i * 7919) % IMAGES) as u32).collect()
}

/// The engine's training step.
struct Ours {
    executable: Executable<f32>,
    store: Store<f32>,
    images: Vec<u8>,
    index: Vec<u32>,
    step: u64,
}

impl Ours {
    fn new(sizes: Sizes, executable: Executable<f32>, batch: usize) -> Self {
        let (images, index) = (images(sizes), index(batch));
        Ours { executable, store: model::initial_store(sizes), images, index, step: 0 }
    }

    fn run(&mut self) {
        self.step += 1;
        let run = Run {
            rows: self.index.len(),
            inputs: &[("learning_rate", &[1e-4]), ("count", &[self.step as f32])],
            data: &[("images", DataSet::Bytes(&self.images))],
            indices: &[("batch", &self.index)],
            seed: 7,
            step: self.step,
            row_offset: 0,
        };
        self.executable.run(&mut self.store, &run).expect("the run is complete");
    }

    /// Seconds per step.
    fn time(&mut self, steps: usize) -> f64 {
        let start = Instant::now();
        (0..steps).for_each(|_| self.run());
        start.elapsed().as_secs_f64() / steps as f64
    }

    fn bound(&self) -> f64 {
        f64::from(self.executable.output("bound").expect("the program has this output")[0])
    }
}

/// The JAX script, waiting for commands.
struct Peer {
    name: &'static str,
    process: Child,
    replies: BufReader<std::process::ChildStdout>,
}

impl Peer {
    fn start(python: &str, name: &'static str, arguments: &Arguments, precision: &str) -> Self {
        let sizes = arguments.sizes;
        let number = |n: usize| n.to_string();
        let mut process = Command::new(python)
            .args([arguments.script.as_str(), "--serve", "--loop", name, "--precision", precision])
            .args(["--latent", &number(sizes.latent), "--hmc-steps", &number(sizes.hmc_steps)])
            .args(["--leapfrog-steps", &number(sizes.leapfrog_steps)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|why| panic!("cannot start {python}: {why}; name a Python that has jax"));
        let replies = BufReader::new(process.stdout.take().unwrap());
        let name = if name == "scan" { "jax (scan)" } else { "jax (unrolled)" };
        Peer { name, process, replies }
    }

    /// Microseconds per image.
    fn time(&mut self, batch: usize, steps: usize) -> f64 {
        writeln!(self.process.stdin.as_mut().unwrap(), "go {batch} {steps}").unwrap();
        let mut line = String::new();
        self.replies.read_line(&mut line).unwrap();
        let reply: serde_json::Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("the peer did not answer; is jax installed?"));
        reply["us_per_image"].as_f64().unwrap()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Closing its input ends the script.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
