//! Look at the CUDA code of programs, which needs no GPU.
#![cfg(feature = "cuda")]
#![allow(missing_docs, reason = "tests are named for what they guard")]

use hmcvi_graph::cuda::CudaOptions;
use hmcvi_graph::{Expr, Graph};

fn source(value: Expr<'_>) -> String {
    let program = value.graph().program().output("y", value).compile().expect("well formed");
    program.cuda_source(&CudaOptions::for_rows(50), 132)
}

/// Requires the first text in the code of a program, and not the second.
#[track_caller]
fn check(value: Expr<'_>, there: &[&str], absent: &[&str]) {
    let source = source(value);
    for text in there {
        assert!(source.contains(text), "`{text}` is not in\n{source}");
    }
    for text in absent {
        assert!(!source.contains(text), "`{text}` is in\n{source}");
    }
}

/// Programs without them have the code that they had before there were such functions.
#[test]
fn functions_come_with_the_programs_that_use_them() {
    let graph = Graph::new();
    let (x, p) = (graph.batch_input("x", 20), graph.parameter("p", 3, 4));
    let definition = "float f_lgamma(float x)";
    check(x.log(), &["= f_log("], &[definition, "struct Table"]);
    check(x.lgamma(), &[definition, "= f_lgamma("], &["struct Table"]);
    check(x.polygamma(2).sum_cols(), &[definition, "= f_polygamma<2>("], &[]);
    let (normal, power) = ("float f_log_normal_cdf(float x)", "float f_pow(float x, float y)");
    check(x.log(), &[], &[normal, power]);
    check(x.log_normal_cdf(), &[normal, "= f_log_normal_cdf("], &[definition]);
    check(x.abs().pow(x), &[power, "= f_pow("], &[definition]);
    // In fixed stages, too.
    check(p.digamma().sum(), &[definition, "= f_polygamma<0>("], &[]);
    let second = graph.row_grad(graph.row_grad(x.lgamma().sum_cols(), x).sum_cols(), x);
    check(second, &["= f_polygamma<1>("], &["= f_lgamma(", "= f_polygamma<0>("]);
}

#[test]
fn data_sets_are_read_by_their_kind() {
    let graph = Graph::new();
    let (bytes, values) = (graph.gather("b", "batch", 20), graph.gather_values("v", "batch", 20));
    let (of_bytes, of_values) = ("reinterpret_cast<const unsigned char*>", "reinterpret_cast<const Table*>");
    check(bytes, &[of_bytes], &[of_values, "struct Table"]);
    check(values, &[of_values, "struct Table", "= table_value("], &[of_bytes]);
    check(bytes + values, &[of_bytes, of_values], &[]);
}
