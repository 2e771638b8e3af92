//! Guard that a trained model can be used without its data, and without this program by what the documentation says.

mod common;

use std::fs;
use std::process::Command;

use common::{SMALL, Sandbox, skipped};

/// Images of 4x8 pixels, stripes that lie or stand, as a NumPy file.
fn stripes(count: usize) -> Vec<u8> {
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({count}, 4, 8), }}");
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(format!("{header:<117}\n").bytes());
    let pixel = |i: usize, y: usize, x: usize| if [x, y][i % 2] % 2 == 1 { 200 + (i % 40) as u8 } else { 9 };
    file.extend((0..count).flat_map(|i| (0..32).map(move |p| pixel(i, p / 8, p % 8))));
    file
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn samples_of_the_prior_need_no_data() {
    let sandbox = Sandbox::new();
    let file = |name: &str| sandbox.path().join(name);
    fs::write(file("stripes.npy"), stripes(100)).expect("written");
    let mut train = vec!["train", "basic-2d", "--data", "stripes.npy", "--out", "run", "--quiet"];
    train.extend(SMALL);
    sandbox.succeed(&[&train[..], &["train.epochs=1"]].concat());
    let sample = |name: &str, more: &[&str]| {
        let out = format!("{name}.png");
        let arguments = [&["sample", "run", "--count", "3", "--json", "--out", &out], more].concat();
        json(&sandbox.succeed(&arguments))
    };
    sample("before", &[]);
    fs::remove_file(file("stripes.npy")).expect("it was there");
    let written = sample("after", &[]);
    assert_eq!(written["shape"], serde_json::json!([3, 4, 8]));
    assert_eq!((&written["z"], &written["z_shape"]), (&"after-z.npy".into(), &serde_json::json!([3, 2])));
    for end in [".png", ".npy", "-z.npy"] {
        let read = |name: &str| fs::read(file(&format!("{name}{end}"))).expect("written");
        assert_eq!(read("before"), read("after"), "{end}");
    }
    // Runs of early versions do not say what shape their images have: 32 pixels are no square, so they are columns.
    let info = fs::read_to_string(file("run/run.json")).expect("a description");
    let mut early = json(&info);
    let shape = early.as_object_mut().expect("an object").remove("image_shape");
    assert_eq!(shape, Some(serde_json::json!([4, 8])));
    fs::write(file("run/run.json"), early.to_string()).expect("written");
    assert_eq!(sample("early", &[])["shape"], serde_json::json!([3, 32]));
    // Reconstructions are of something.
    let said = sandbox.fail(3, &["sample", "run", "--reconstruct", "--out", "again.png"]);
    assert!(said.contains("stripes.npy"), "{said}");
}

/// What the script of the documentation is asked to prove.
const CHECKS: &str = r#"
def close(name, found, expected):
    assert found.shape == expected.shape, (name, found.shape, expected.shape)
    assert expected.std() > 1e-3, (name, "is constant: any model agrees")
    assert np.abs(found - expected).max() < 1e-4, (name, np.abs(found - expected).max())

def rows(name):
    array = np.load(name)
    return array.reshape(-1, array.shape[-2] * array.shape[-1])

for checkpoint in ["best", "last"]:
    weights = load(f"runs/basic-2d-1/{checkpoint}.safetensors")
    z = np.load(f"{checkpoint}-z.npy")
    assert z.shape == (50, 20)
    close("samples", decode(weights, z), rows(f"{checkpoint}.npy"))

    codes = f"codes-{checkpoint}"
    again, z = np.load(f"again-{checkpoint}.npy"), np.load(f"again-{checkpoint}-z.npy")
    seen, before, after = again.reshape(3, len(again[0]), -1)
    close("z0", np.load(f"{codes}/z0.npy")[0], z[0])
    close("zT", np.load(f"{codes}/zT.npy")[0], z[1])
    assert np.abs(z[1] - z[0]).max() > 0.01, "the HMC steps moved nothing"
    close("before", decode(weights, z[0]), before)
    close("after", decode(weights, z[1]), after)
    mean, log_variance = encode(weights, seen)
    close("mean", mean, np.load(f"{codes}/encoder_mean.npy"))
    close("log variance", log_variance, np.load(f"{codes}/encoder_log_variance.npy"))

assert any(np.abs(load("runs/basic-2d-1/last.safetensors")[name] - tensor).max() > 0
           for name, tensor in load_file("runs/basic-2d-1/last.safetensors").items()
           if name.startswith("decoder.")), "averages are not used"
print("agreed")
"#;

/// Runs the script of the documentation, as it stands there, on a model with HMC steps and averages.
#[test]
fn encoder_and_decoder_can_be_rebuilt_from_the_documentation() {
    let python = std::env::var("HMCVI_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let ready = Command::new(&python).args(["-c", "import numpy, safetensors"]).output();
    if !ready.is_ok_and(|output| output.status.success()) {
        return skipped(&format!(
            "`{python}` has no numpy or no safetensors (HMCVI_TEST_PYTHON names another)"
        ));
    }
    for binarisation in ["stochastic", "none"] {
        agrees_with_the_documentation(&python, binarisation);
    }
}

fn agrees_with_the_documentation(python: &str, binarisation: &str) {
    let sandbox = Sandbox::new();
    // The name that the documentation uses.
    let run = "runs/basic-2d-1";
    let mut train = vec!["train", "hmcvi-12", "--data", "embedded", "--out", run, "--quiet"];
    let binarised = format!("data.binarisation={binarisation}");
    train.extend(SMALL);
    train.extend(["train.epochs=5", "train.average=0.5", &binarised]);
    sandbox.succeed(&train);
    for checkpoint in ["best", "last"] {
        let name = |text: &str| text.replace('*', checkpoint);
        let (samples, again, codes) = (name("*.png"), name("again-*.png"), name("codes-*"));
        let with = ["--checkpoint", checkpoint, "--quiet", "--out"];
        sandbox.succeed(&[&["sample", run, "--count", "50"], &with[..], &[&samples]].concat());
        sandbox.succeed(&[&["sample", run, "--count", "30", "--reconstruct"], &with[..], &[&again]].concat());
        sandbox.succeed(&[&["encode", run, "--limit", "30"], &with[..], &[&codes]].concat());
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/run-directory.md");
    let page = fs::read_to_string(page).expect("the documentation");
    let mut blocks = page.split("```python\n").skip(1).filter_map(|rest| rest.split("```").next());
    let script = blocks.find(|block| block.contains("def decode(")).expect("a script that decodes");
    let mut command = Command::new(python);
    let output = command.args(["-c", &format!("{script}\n{CHECKS}")]).current_dir(sandbox.path()).output();
    let output = output.expect("python starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output.stdout == b"agreed\n", "{binarisation}: {said}");
}
