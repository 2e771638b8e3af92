//! Loops compute what the same program does that is written without them, and so do their derivatives.

use hmcvi_graph::{CompileError, CpuOptions, Expr, Graph, Program, Real, Rows, Run, Shape, Store};

const STEPS: usize = 5;
const WIDTH: usize = 3;
const ROWS: usize = 37;

/// What a body is made of.
struct Parts<'g> {
    w: Expr<'g>,
    b: Expr<'g>,
    scale: Expr<'g>,
    x: Expr<'g>,
    z: Expr<'g>,
    sizes: Expr<'g>,
    kicks: Expr<'g>,
}

impl<'g> Parts<'g> {
    fn new(graph: &'g Graph) -> Self {
        let x = graph.batch_input("x", WIDTH);
        let sizes = graph.parameter("sizes", 1, STEPS * WIDTH);
        Parts {
            w: graph.parameter("w", WIDTH, 4),
            b: graph.parameter("b", 1, 4),
            scale: graph.parameter("scale", 1, 1),
            x: (x * graph.parameter("v", 1, WIDTH)).tanh(),
            z: x + graph.parameter("start", 1, WIDTH),
            sizes: (sizes * 0.5).exp(),
            kicks: Expr::concat_cols(&[x; STEPS]) * sizes,
        }
    }

    fn parameters(graph: &'g Graph) -> Vec<Expr<'g>> {
        let all =
            [("w", WIDTH, 4), ("b", 1, 4), ("scale", 1, 1), ("sizes", 1, STEPS * WIDTH), ("v", 1, WIDTH)];
        all.into_iter().chain([("start", 1, WIDTH)]).map(|(name, r, c)| graph.parameter(name, r, c)).collect()
    }

    /// A step with a force in it, per-step values and a draw: the next position, and the energy of this one.
    fn step(&self, z: Expr<'g>, size: Expr<'g>, kick: Expr<'g>, noise: Expr<'g>) -> (Expr<'g>, Expr<'g>) {
        let energy = |z: Expr<'g>| ((z * self.x).matmul(self.w) + self.b).softplus().sum_cols();
        let force = -z.graph().row_grad(energy(z), z);
        let next = z + size * (force + kick) + self.scale * noise * z.less(0.5).select(z, 0.25);
        (next, energy(z) * self.scale + self.scale * self.b.sum_cols())
    }
}

/// Results of a program: the end, energies of all steps, their sum.
struct Results<'g>([Expr<'g>; 3]);

fn with_loop(graph: &Graph) -> Results<'_> {
    let parts = Parts::new(graph);
    let mut energy = None;
    let repeated = graph.repeat(STEPS, parts.z, |of, z| {
        let noise = of.normal(20..40, 2, WIDTH);
        let (next, own) = parts.step(z, of.pick(parts.sizes), of.pick(parts.kicks), noise);
        energy = Some(own * (of.step() + 1.0));
        next
    });
    let energy = energy.expect("the body was written");
    Results([repeated.end(), repeated.stack(energy), repeated.sum(energy)])
}

fn by_hand(graph: &Graph) -> Results<'_> {
    let parts = Parts::new(graph);
    let (mut z, mut energies) = (parts.z, Vec::new());
    for t in 0..STEPS {
        let pick = |values: Expr<'_>| (t * WIDTH, values.cols() / STEPS);
        let (at, cols) = pick(parts.sizes);
        let (size, kick) = (parts.sizes.slice_cols(at, cols), parts.kicks.slice_cols(at, cols));
        let (next, own) = parts.step(z, size, kick, graph.normal(20 + 2 * t as u16, WIDTH));
        energies.push(own * (t as f64 + 1.0));
        z = next;
    }
    let sum = energies.iter().copied().reduce(|a, b| a + b).expect("there are steps");
    Results([z, Expr::concat_cols(&energies), sum])
}

/// A program of all results, a loss of all of them, and its gradients; parameters are updated.
fn compile(graph: &Graph, Results([end, energies, sum]): Results<'_>, unrolled: bool) -> Program {
    let weights: Vec<f64> = (0..STEPS).map(|t| 0.3 - 0.2 * t as f64).collect();
    let weighed = (energies.tanh() * graph.constant_matrix(1, STEPS, &weights)).sum_cols();
    let loss = (end.square().sum_cols() + weighed + sum.sin()).mean_rows();
    let wrt = Parts::parameters(graph);
    let gradients = graph.grad(loss, &wrt);
    let mut program = graph.program().output("end", end).output("energies", energies).output("sum", sum);
    for (i, gradient) in gradients.iter().enumerate() {
        program =
            program.output(&format!("gradient {i}"), *gradient).update(wrt[i], wrt[i] - *gradient * 0.1);
    }
    let program = if unrolled { program.unrolled() } else { program };
    program.compile().expect("a program")
}

/// All outputs after two updates, by name.
fn results<T: Real>(program: &Program, options: CpuOptions) -> Vec<(String, Vec<f64>)> {
    let mut store = Store::<T>::new();
    let graph = Graph::new();
    let values =
        |n: usize, seed: f64| (0..n).map(|i| T::from_f64((seed + i as f64 * 0.7).sin())).collect::<Vec<T>>();
    for (i, parameter) in Parts::parameters(&graph).into_iter().enumerate() {
        let names = ["w", "b", "scale", "sizes", "v", "start"];
        let Shape { rows: Rows::Fixed(rows), cols } = parameter.shape() else {
            panic!("parameters are fixed")
        };
        store.insert(names[i], rows, cols, values(rows * cols, i as f64)).expect("the size is right");
    }
    let x = values(ROWS * WIDTH, 0.4);
    let mut executable = program.on_cpu::<T>(options);
    for step in 0..2 {
        let run = Run { rows: ROWS, inputs: &[("x", &x)], seed: 3, step, ..Run::default() };
        executable.run(&mut store, &run).expect("it runs");
    }
    let output =
        |name: &str| executable.output(name).expect("it is an output").iter().map(|x| x.to_f64()).collect();
    program.output_names().map(|name| (name.to_owned(), output(name))).collect()
}

fn assert_close(found: &[(String, Vec<f64>)], expected: &[(String, Vec<f64>)], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for ((name, found), (_, expected)) in found.iter().zip(expected) {
        let largest = expected.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        assert!(expected.iter().any(|x| x.abs() > 1e-3), "{name} is nothing");
        for (i, (a, b)) in found.iter().zip(expected).enumerate() {
            assert!((a - b).abs() <= tolerance * largest, "{name}[{i}]: {a}, not {b}");
        }
    }
}

#[test]
fn a_loop_is_what_it_is_without_one() {
    let (with, without) = (Graph::new(), Graph::new());
    let options = CpuOptions::for_rows(ROWS);
    let looped = compile(&with, with_loop(&with), false);
    let expected = results::<f64>(&compile(&without, by_hand(&without), false), options);
    assert!(format!("{looped}").contains("for t from 4 to 0"), "{looped}");
    assert_close(&results::<f64>(&looped, options), &expected, 1e-12);
    let small = CpuOptions { tile_rows: 5, threads: 2, ..options };
    assert_close(&results::<f64>(&looped, small), &expected, 1e-12);
    // In f32 the loop is as far from this as the program without it: both round to 2⁻²⁴, and steps magnify what is lost.
    assert_close(&results::<f32>(&looped, options), &expected, 1e-3);
}

#[test]
fn a_loop_that_is_written_out_is_the_program_without_one() {
    let (with, without) = (Graph::new(), Graph::new());
    let options = CpuOptions::for_rows(ROWS);
    let unrolled = compile(&with, with_loop(&with), true);
    let by_hand = compile(&without, by_hand(&without), false);
    assert!(!format!("{unrolled}").contains("for t from"), "{unrolled}");
    assert_close(&results::<f64>(&unrolled, options), &results::<f64>(&by_hand, options), 1e-12);
    // Nothing is computed twice.
    assert_eq!(unrolled.cost().product_flop_per_row, by_hand.cost().product_flop_per_row);
}

#[test]
fn results_do_not_depend_on_threads() {
    let graph = Graph::new();
    let program = compile(&graph, with_loop(&graph), false);
    let with = |threads| {
        results::<f32>(&program, CpuOptions { threads, tile_rows: 8, ..CpuOptions::for_rows(ROWS) })
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn programs_do_not_grow_with_the_number_of_steps() {
    let size = |steps: usize| {
        let graph = Graph::new();
        let z = graph.batch_input("z", 2);
        let w = graph.parameter("w", 2, 2);
        let end = graph.repeat(steps, z, |_, z| z - 0.1 * z.matmul(w).tanh()).end();
        let gradient = graph.grad(end.sum(), &[w])[0];
        let program = graph.program().output("gradient", gradient).compile().expect("a program");
        let cost = program.cost();
        (
            program.expressions(),
            cost.steps,
            cost.product_flop_per_row / steps as u64,
            cost.tile_values_per_row,
        )
    };
    let (few, many) = (size(10), size(1000));
    assert_eq!((few.0, few.1, few.2), (many.0, many.1, many.2));
    // Two values for each step, in blocks of 16.
    assert!(many.3 - few.3 <= 2 * 990 + 16, "{few:?} {many:?}");
}

#[test]
fn loops_one_after_the_other_and_sums_in_between() {
    fn chain<'g>(graph: &'g Graph, z: Expr<'g>, w: Expr<'g>, looped: bool) -> Expr<'g> {
        let step = |z: Expr<'g>| z + 0.2 * z.matmul(w).sin();
        match looped {
            true => graph.repeat(4, z, |_, z| step(z)).end(),
            false => (0..4).fold(z, |z, _| step(z)),
        }
    }
    let gradient = |looped: bool| {
        let graph = Graph::new();
        let (z, w) = (graph.batch_input("z", 2), graph.parameter("w", 2, 2));
        let first = chain(&graph, z, w, looped);
        // A second row stage: rows are compared with their mean.
        let second = chain(&graph, (first - first.mean_rows()) * z, w, looped);
        let loss = (second + first).square().sum_cols().mean_rows();
        let gradient = graph.grad(loss, &[w])[0];
        let program =
            graph.program().output("loss", loss).output("gradient", gradient).compile().expect("a program");
        let mut store = Store::<f64>::new();
        store.insert("w", 2, 2, vec![0.3, -0.8, 1.1, 0.4]).expect("the size is right");
        let z: Vec<f64> = (0..40).map(|i| f64::from(i).cos()).collect();
        let mut executable = program.on_cpu::<f64>(CpuOptions { tile_rows: 6, ..CpuOptions::for_rows(20) });
        executable
            .run(&mut store, &Run { rows: 20, inputs: &[("z", &z)], ..Run::default() })
            .expect("it runs");
        let of = |name| executable.output(name).expect("it is an output").to_vec();
        (of("loss"), of("gradient"))
    };
    let (found, expected) = (gradient(true), gradient(false));
    for (a, b) in found.0.iter().chain(&found.1).zip(expected.0.iter().chain(&expected.1)) {
        assert!((a - b).abs() < 1e-12 * b.abs().max(1.0), "{found:?} {expected:?}");
    }
}

#[test]
fn values_of_a_body_do_not_leave_it() {
    let graph = Graph::new();
    let z = graph.batch_input("z", 2);
    let mut inside = z;
    graph.repeat(3, z, |_, z| {
        inside = z.sin();
        inside
    });
    let error = graph.program().output("inside", inside).compile().err();
    assert_eq!(error, Some(CompileError::InsideLoop("inside".into())));
}

/// What a mistake says.
fn complaint(mistake: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let caught = std::panic::catch_unwind(mistake).expect_err("it is a mistake");
    caught.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn what_loops_cannot_do_is_said() {
    let again = complaint(|| {
        let graph = Graph::new();
        let z = graph.batch_input("z", 1);
        let end = graph.repeat(3, z, |_, z| z.sin()).end();
        let slope = graph.row_grad(end, z);
        graph.row_grad(slope, z);
    });
    assert!(again.contains("derivative of a loop"), "{again}");
    let within = complaint(|| {
        let graph = Graph::new();
        let z = graph.batch_input("z", 1);
        graph.repeat(3, z, |_, z| graph.repeat(3, z, |_, z| z.sin()).end());
    });
    assert!(within.contains("loops do not contain loops"), "{within}");
    let cols = complaint(|| {
        let graph = Graph::new();
        let z = graph.batch_input("z", 4);
        graph.repeat(3, z, |of, z| z + of.pick(z));
    });
    assert!(cols.contains("3 steps need as many blocks"), "{cols}");
}
