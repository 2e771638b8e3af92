//! Functions that draw have the means and variances of their distributions.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use hmcvi::bayes::Data;
use hmcvi_stan::Program;

const DRAWS: usize = 10_000;

/// `Γ(x + 1/2) / Γ(x)`, which means of powers have.
fn half_step(x: f64) -> f64 {
    (libm::lgamma(x + 0.5) - libm::lgamma(x)).exp()
}

/// Expressions with their means and variances. Those of distributions without a variance are of events.
fn cases() -> Vec<(&'static str, f64, f64)> {
    let event = |expression, p: f64| (expression, p, p * (1.0 - p));
    let pi = std::f64::consts::PI;
    let euler = 0.577_215_664_901_532_9;
    let gamma = libm::tgamma;
    let skew = 3.0 / 10f64.sqrt();
    // I₁(2) / I₀(2), the mean cosine of a von Mises variable with concentration 2.
    let cosine = 0.697_774_657_964_007_8;
    vec![
        ("normal_rng(1, 2)", 1.0, 4.0),
        ("std_normal_rng()", 0.0, 1.0),
        ("student_t_rng(9, 1, 2)", 1.0, 4.0 * 9.0 / 7.0),
        event("cauchy_rng(1, 2) < 3", 0.75),
        event("cauchy_rng(1, 2) < 1", 0.5),
        ("double_exponential_rng(1, 2)", 1.0, 8.0),
        // Sides with the probabilities 0.3 and 0.7 and the means -2 / 1.4 and 2 / 0.6.
        event("skew_double_exponential_rng(1, 2, 0.3) < 1", 0.3),
        ("skew_double_exponential_rng(1, 2, 0.3)", 1.0 - 0.3 * 2.0 / 1.4 + 0.7 * 2.0 / 0.6, {
            let square = 0.3 * 2.0 * (2.0f64 / 1.4).powi(2) + 0.7 * 2.0 * (2.0f64 / 0.6).powi(2);
            square - (-0.3 * 2.0 / 1.4 + 0.7 * 2.0 / 0.6f64).powi(2)
        }),
        ("logistic_rng(1, 2)", 1.0, 4.0 * pi * pi / 3.0),
        ("gumbel_rng(1, 2)", 1.0 + 2.0 * euler, 4.0 * pi * pi / 6.0),
        ("lognormal_rng(0.5, 0.4)", (0.5f64 + 0.08).exp(), (0.16f64.exp() - 1.0) * (1.0f64 + 0.16).exp()),
        ("log(loglogistic_rng(3, 2))", 3f64.ln(), pi * pi / 12.0),
        ("exponential_rng(2)", 0.5, 0.25),
        ("gamma_rng(3, 2)", 1.5, 0.75),
        ("gamma_rng(0.3, 2)", 0.15, 0.075),
        ("inv_gamma_rng(7, 3)", 0.5, 9.0 / (36.0 * 5.0)),
        ("weibull_rng(2, 3)", 3.0 * gamma(1.5), 9.0 * (1.0 - gamma(1.5).powi(2))),
        ("frechet_rng(9, 3)", 3.0 * gamma(8.0 / 9.0), 9.0 * (gamma(7.0 / 9.0) - gamma(8.0 / 9.0).powi(2))),
        ("rayleigh_rng(2)", 2.0 * (pi / 2.0).sqrt(), 4.0 * (4.0 - pi) / 2.0),
        ("chi_square_rng(5)", 5.0, 10.0),
        ("inv_chi_square_rng(14)", 1.0 / 12.0, 2.0 / (144.0 * 10.0)),
        ("scaled_inv_chi_square_rng(14, 2)", 14.0 * 4.0 / 12.0, 2.0 * 196.0 * 16.0 / (144.0 * 10.0)),
        ("log(pareto_rng(2, 3))", 2f64.ln() + 1.0 / 3.0, 1.0 / 9.0),
        ("log1p((pareto_type_2_rng(1, 2, 3) - 1) / 2)", 1.0 / 3.0, 1.0 / 9.0),
        ("beta_rng(2, 3)", 0.4, 6.0 / (25.0 * 6.0)),
        // So small that a ratio of gamma variables would be 0/0.
        event("beta_rng(0.001, 0.001) < 0.5", 0.5),
        ("beta_proportion_rng(0.3, 8)", 0.3, 0.21 / 9.0),
        ("uniform_rng(-1, 3)", 1.0, 16.0 / 12.0),
        ("cos(von_mises_rng(1, 2) - 1)", cosine, 1.0 - cosine / 2.0 - cosine * cosine),
        event("von_mises_rng(1, 2) > 1", 0.5),
        (
            "skew_normal_rng(1, 2, 3)",
            1.0 + 2.0 * skew * (2.0 / pi).sqrt(),
            4.0 * (1.0 - 2.0 * skew * skew / pi),
        ),
        ("exp_mod_normal_rng(1, 2, 0.5)", 3.0, 8.0),
        event("bernoulli_rng(0.3)", 0.3),
        event("bernoulli_logit_rng(-1)", 1.0 / (1.0 + 1f64.exp())),
        ("binomial_rng(9, 0.3)", 2.7, 1.89),
        ("binomial_rng(900, 0.6)", 540.0, 216.0),
        ("binomial_logit_rng(9, 0)", 4.5, 2.25),
        ("beta_binomial_rng(9, 2, 3)", 3.6, 9.0 * 0.24 * 14.0 / 6.0),
        ("hypergeometric_rng(4, 5, 7)", 20.0 / 12.0, 4.0 * 5.0 * 7.0 * 8.0 / (144.0 * 11.0)),
        ("hypergeometric_rng(9, 5, 7)", 45.0 / 12.0, 9.0 * 5.0 * 7.0 * 3.0 / (144.0 * 11.0)),
        ("poisson_rng(3)", 3.0, 3.0),
        ("poisson_rng(300)", 300.0, 300.0),
        ("poisson_log_rng(1)", 1f64.exp(), 1f64.exp()),
        ("neg_binomial_rng(3, 2)", 1.5, 1.5 * 1.5),
        ("neg_binomial_2_rng(4, 2)", 4.0, 12.0),
        ("neg_binomial_2_log_rng(1, 2)", 1f64.exp(), 1f64.exp() + 2f64.exp() / 2.0),
        ("discrete_range_rng(2, 5)", 3.5, 15.0 / 12.0),
        ("sum(normal_rng(rep_vector(2, 5), 3))", 10.0, 45.0),
        ("categorical_rng([0.2, 0.5, 0.3]')", 2.1, 0.49),
        ("categorical_logit_rng(log([2, 5, 3]'))", 2.1, 0.49),
        // The class is above 1 where the number is above the only cut point.
        event("ordered_logistic_rng(1, [0]') - 1", 1.0 / (1.0 + (-1f64).exp())),
        event("ordered_probit_rng(0, [0]') - 1", 0.5),
        ("multinomial_rng([0.2, 0.5, 0.3]', 20)[2]", 10.0, 5.0),
        ("multinomial_logit_rng(log([2, 5, 3]'), 20)[3]", 6.0, 4.2),
        ("dirichlet_multinomial_rng([1, 2, 3]', 10)[2]", 10.0 / 3.0, 10.0 * 2.0 / 9.0 * 16.0 / 7.0),
        event("bernoulli_logit_glm_rng([[1, 2], [0, 1]], 0.5, [1, -1]')[2]", 1.0 / (1.0 + 0.5f64.exp())),
        ("dirichlet_rng([1, 2, 3]')[2]", 1.0 / 3.0, 2.0 * 4.0 / (36.0 * 7.0)),
        ("dot_product(multi_normal_rng([1, 2]', [[2, 1], [1, 3]]), [1, 1]')", 3.0, 7.0),
        ("sum(multi_normal_rng({[1, 2]', [3, 4]'}, [[2, 1], [1, 3]])[2])", 7.0, 7.0),
        ("sum(multi_normal_cholesky_rng([1, 2]', [[2, 0], [1, 3]]))", 3.0, 4.0 + 4.0 + 10.0),
        // The inverse of [[2, 1], [1, 3]] is [[3, -1], [-1, 2]] / 5.
        ("sum(multi_normal_prec_rng([1, 2]', [[2, 1], [1, 3]]))", 3.0, 3.0 / 5.0),
        ("sum(multi_student_t_rng(9, [1, 2]', [[2, 1], [1, 3]]))", 3.0, 7.0 * 9.0 / 7.0),
        // Any correlation is a beta variable on (-1, 1) with both shapes 2 - 1 + 4 / 2.
        ("lkj_corr_rng(4, 2)[2, 1]", 0.0, 1.0 / 7.0),
        ("lkj_corr_rng(4, 2)[4, 3]", 0.0, 1.0 / 7.0),
        ("multiply_lower_tri_self_transpose(lkj_corr_cholesky_rng(4, 2))[4, 2]", 0.0, 1.0 / 7.0),
        ("multiply_lower_tri_self_transpose(lkj_corr_cholesky_rng(4, 2))[3, 3]", 1.0, 0.0),
        ("wishart_rng(6, [[2, 1], [1, 3]])[2, 1]", 6.0, 6.0 * 7.0),
        ("wishart_rng(6, [[2, 1], [1, 3]])[2, 2]", 18.0, 6.0 * 18.0),
        // Diagonal elements are inverse gamma variables with the shape (ν - 1) / 2 and the scale half the element.
        ("inv_wishart_rng(16, [[2, 1], [1, 3]])[2, 2]", 3.0 / 13.0, 2.0 * 9.0 / (169.0 * 11.0)),
        ("sqrt(gamma_rng(3, 1))", half_step(3.0), 3.0 - half_step(3.0).powi(2)),
    ]
}

#[test]
fn draws_have_the_means_and_variances_of_their_distributions() {
    let cases = cases();
    let lines: String =
        cases.iter().enumerate().map(|(i, (text, ..))| format!("  real q{i} = {text};\n")).collect();
    let text =
        format!("parameters {{ real x; }} model {{ x ~ std_normal(); }}\ngenerated quantities {{\n{lines}}}");
    let model = Program::parse(&text).and_then(|program| program.model(&Data::new()));
    let model = model.unwrap_or_else(|error| panic!("{error}"));
    let found = model.all_quantities(&[0.0; DRAWS], 3, 2, &|_| true).expect("draws").expect("all of them");
    assert_eq!(found.failed, None);
    let (n, width) = (DRAWS as f64, model.names().len());
    let mut wrong = Vec::new();
    for (i, (text, mean, variance)) in cases.iter().enumerate() {
        let x: Vec<f64> = found.values.chunks_exact(width).map(|row| row[i + 1]).collect();
        let own_mean = x.iter().sum::<f64>() / n;
        let squares: Vec<f64> = x.iter().map(|x| (x - mean).powi(2)).collect();
        let own_variance = squares.iter().sum::<f64>() / n;
        let spread = squares.iter().map(|s| (s - own_variance).powi(2)).sum::<f64>() / n;
        // Of 150 comparisons, one in a hundred runs is off by 4 standard errors; the seed is fixed.
        let (error, of_variance) = (4.0 * (variance / n).sqrt(), 4.0 * (spread / n).sqrt());
        let rounding = 1e-12;
        if (own_mean - mean).abs() > error + rounding
            || (own_variance - variance).abs() > of_variance + rounding
        {
            wrong.push(format!(
                "{text}: mean {own_mean} for {mean} ± {error}, variance {own_variance} for {variance} ± {of_variance}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn arguments_that_nothing_can_be_drawn_with_are_said() {
    for (text, said) in [
        ("normal_rng(0, -1)", "argument 2 of normal_rng is -1, and must be a finite number above 0"),
        ("bernoulli_rng(1.5)", "a probability from 0 to 1"),
        ("poisson_log_rng(50)", "the mean is exp(50), and must be at most 2^30"),
        ("uniform_rng(2, 1)", "2 is not below 1"),
        ("categorical_rng([0.2, 0.2]')", "add up to 1, not to 0.4"),
        ("sum(multi_normal_rng([1, 2]', [[1, 2], [2, 1]]))", "not positive definite"),
        ("sum(multi_normal_rng([1, 2, 3]', [[1, 0], [0, 1]]))", "the mean has 3 elements"),
        ("sum(normal_rng([1, 2]', [1, 2, 3]'))", "have 2 and 3 elements"),
        ("exponential_rng(not_a_number())", "is NaN"),
    ] {
        let program =
            format!("parameters {{ real x; }} model {{ }}\ngenerated quantities {{\n  real q = {text};\n}}");
        let model = Program::parse(&program).and_then(|program| program.model(&Data::new()));
        let model = model.unwrap_or_else(|error| panic!("{error}"));
        let found = model.all_quantities(&[0.5, 0.7], 1, 1, &|_| true).expect("draws").expect("all of them");
        let failed = found.failed.expect(text);
        assert_eq!((failed.draws, failed.first, failed.error.line()), (2, 0, Some(3)), "{text}");
        assert!(failed.error.to_string().contains(said), "{}", failed.error);
        assert!(found.values[0] == 0.5 && found.values[1].is_nan(), "{:?}", found.values);
    }
}
