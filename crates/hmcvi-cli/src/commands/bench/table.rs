//! Write the table of a machine as Markdown, which is what `docs/performance.md` shows.

use super::all::{BATCHES, Table};
use super::step::{Measured, PeerTime};

/// The whole table.
pub(super) fn markdown(table: &Table) -> String {
    let host = &table.host;
    let mut text = format!(
        "Output of `{}`, hmcvi {}: {}, {} threads, {}",
        table.command, table.version, host.processor, host.threads, host.instructions
    );
    text += &host.peers.as_ref().map_or(".\n".into(), |peers| format!("; {peers}.\n"));
    text += "\n### Training steps on the CPU\n\n";
    text += &steps(&table.steps);
    text += "\n### Threads\n\nMicroseconds per image of `hmcvi-13`.\n\n";
    text += &threads(table);
    text += "\n### Products of a decoder's two largest operands, f32\n\n";
    text +=
        "| batch | packed once per step | packed in every call (`gemm` crate) | gain |\n|---|---|---|---|\n";
    for p in &table.packing {
        text += &format!(
            "| {} | {:.0} GFLOP/s | {:.0} GFLOP/s | **{:.2}** |\n",
            p.batch, p.gflops_packed_once, p.gflops_packed_always, p.gain
        );
    }
    text += "\n### Training steps on the GPU\n\n";
    text +=
        &table.gpu.missing.as_ref().map_or_else(|| steps(&table.gpu.steps), |why| format!("None: {why}\n"));
    text
}

/// Steps beside those of others.
fn steps(steps: &[Measured]) -> String {
    let mut text = String::from(
        "| step | device | ours, per image | JAX, scan | JAX, unrolled | products | share of OpenBLAS |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for step in steps {
        let peer = |name: &str| step.peers.get(name).map_or("not timed".into(), times);
        text += &format!(
            "| `{}`, batch {} | {} | {} us | {} | {} | {:.0} GFLOP/s | {} |\n",
            step.preset,
            step.batch,
            step.device,
            digits(step.us_per_image),
            peer("jax (scan)"),
            peer("jax (unroll)"),
            step.gflops,
            blas(step)
        );
    }
    text
}

fn times(peer: &PeerTime) -> String {
    format!("{} us, **{:.2}** times ours", digits(peer.us_per_image), peer.ratio)
}

/// What the products alone take OpenBLAS with its faster kernels, as a share of our whole step.
fn blas(step: &Measured) -> String {
    let all = step.peers.iter().filter(|(name, _)| name.starts_with("blas"));
    let fastest = all.min_by(|(_, a), (_, b)| a.us_per_image.total_cmp(&b.us_per_image));
    fastest.map_or("not timed".into(), |(_, peer)| {
        let gflops = step.flop_per_image as f64 / peer.us_per_image / 1e3;
        format!("{:.0}% of {gflops:.0} GFLOP/s", 100.0 * peer.ratio)
    })
}

fn threads(table: &Table) -> String {
    let heads: Vec<String> = BATCHES.iter().map(|batch| format!(" batch {batch} |")).collect();
    let mut text = format!("| threads |{}\n|---|{}\n", heads.concat(), "---|".repeat(BATCHES.len()));
    for row in &table.threads {
        let one = table.threads.first().map_or(&row.us_per_image, |first| &first.us_per_image);
        let gains =
            row.us_per_image.iter().zip(one).map(|(us, one)| format!(" {} ({:.2}) |", digits(*us), one / us));
        text += &format!("| {} |{}\n", row.threads, gains.collect::<String>());
    }
    text + "\nIn brackets: how many times faster than with one thread.\n"
}

/// Three significant digits, or whole numbers.
fn digits(us: f64) -> String {
    let decimals = if us >= 100.0 {
        0
    } else if us >= 10.0 {
        1
    } else {
        2
    };
    format!("{us:.decimals$}")
}
