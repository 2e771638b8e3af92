//! Keep `docs/paper-map.md` complete and its paths right.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use std::path::Path;

/// Labels of equations, algorithms, figures and tables in the paper's source.
const LABELS: [&str; 26] = [
    "eq:Metropolis-Hastings",
    "eq:MCVIAuxLowerBound",
    "eq:HamiltonsEquations",
    "eq:NewtonsEquation",
    "eq:JointDensity",
    "eq:KineticEnergy",
    "eq:AcceptanceProbability",
    "eq:EvolutionQTransformed",
    "eq:partialMomentumUpdate",
    "eq:StateAfterAcceptReject",
    "eq:VIwithHMCPotEnergy",
    "eq:HMCVIAuxLowerBound",
    "eq:ForwardTransitionNoAcceptance",
    "eq:qUDefinition",
    "eq:ReverseTransitionNoAcceptance",
    "alg:HMC",
    "alg:HMCWithPartial",
    "fig:HMC_MOTION_1hmc_12lf",
    "fig:HMC_MOTION_3hmc_04lf",
    "fig:HMC_Effect_Illustration",
    "fig:HMC_schematic",
    "fig:MNISTBinarizationComparison",
    "fig:EnergySurfaceMNIST",
    "fig:2d_latent_visualization",
    "tab:Results",
    "sec:MassMatrixChoice",
];

/// Numbered equations of the paper.
const EQUATIONS: usize = 35;

#[test]
fn the_map_of_the_paper_is_complete_and_its_paths_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let map = std::fs::read_to_string(root.join("docs/paper-map.md")).expect("the map is there");
    for label in LABELS {
        assert!(map.contains(&format!("`{label}`")), "{label} is missing");
    }
    for number in 1..=EQUATIONS {
        assert!(map.contains(&format!("\n| ({number}) ")), "equation ({number}) is missing");
    }
    let quoted: Vec<&str> =
        map.split('`').skip(1).step_by(2).filter(|text| text.starts_with("crates/")).collect();
    assert!(quoted.len() > 80, "{}", quoted.len());
    for path in quoted {
        assert!(root.join(path).is_file(), "{path} is not there");
    }
    let pictures: Vec<&str> = map.split("](").skip(1).filter_map(|text| text.split(')').next()).collect();
    assert_eq!(pictures.len(), 8);
    for picture in pictures {
        assert!(root.join("docs").join(picture).is_file(), "{picture} is not there");
    }
    // Functions and types that the map names behind a path are in that file.
    for row in map.lines() {
        for (path, name) in row.split("`: `").collect::<Vec<_>>().windows(2).map(|pair| (pair[0], pair[1])) {
            let path = path.rsplit('`').next().unwrap_or_default();
            let name = name.split('`').next().unwrap_or_default();
            if path.starts_with("crates/") && path.contains("/src/") {
                let code = std::fs::read_to_string(root.join(path)).expect("it is there");
                let known =
                    ["fn ", "struct ", "enum "].iter().any(|kind| code.contains(&format!("{kind}{name}")));
                assert!(
                    known || !name.chars().all(|c| c.is_alphanumeric() || c == '_'),
                    "{path} has no {name}"
                );
            }
        }
    }
}
