//! Find the settings that are meant, of a preset, a file or a run, and apply changes to them.

use std::path::Path;
use std::sync::Arc;

use hmcvi::Problem;
use hmcvi::config::{PAPER_TABLE, PaperRow, RunSpec, named_families, preset};
use hmcvi::data::{Dataset, Table};
use hmcvi::device::Device;
use hmcvi::eval::image_shape;
use hmcvi::family::FamilySettings;
use hmcvi::run::{Builtin, Checkpoint, RunDirectory, Which, open_data};
use hmcvi::train::learnt;
use hmcvi_record::files;

use crate::Context;
use crate::arguments::{DeviceName, Machine, Trained};
use crate::failure::Failure;
use crate::source;

/// Settings, and whether they name their data themselves.
pub(crate) struct Found {
    pub(crate) spec: RunSpec,
    pub(crate) names_data: bool,
}

/// The settings of `PRESET`, `FILE.toml` or a run directory.
pub(crate) fn find(target: &str) -> Result<Found, Failure> {
    if let Some(spec) = preset(target) {
        return Ok(Found { spec, names_data: false });
    }
    let path = Path::new(target);
    if target == Builtin::NAME {
        return Ok(Found { spec: Builtin::open()?.spec, names_data: false });
    }
    if path.is_dir() {
        return Ok(Found { spec: RunDirectory::open(path)?.spec()?, names_data: true });
    }
    // The settings of a run mean what they meant when it began.
    if let Some(run) =
        path.parent().filter(|run| path.ends_with(files::CONFIG) && run.join(files::INFO).exists())
    {
        return Ok(Found { spec: RunDirectory::open(run)?.spec()?, names_data: true });
    }
    if !path.exists() {
        let text = format!("`{target}` is neither a preset nor a file{}", similar(target));
        return Err(Failure::Usage(text).then(
            "`hmcvi presets` lists the presets: basic-2d, hmcvi-1 to hmcvi-10, basic-20d, hmcvi-11 to hmcvi-20, and \
             families by name",
        ));
    }
    let text =
        std::fs::read_to_string(path).map_err(|e| Failure::Usage(format!("cannot read {target}: {e}")))?;
    let spec = RunSpec::from_toml(&text).map_err(|e| Failure::from(e).about(target))?;
    // Not as TOML's own values, which do not have all seeds.
    let settings: serde_json::Value = toml::from_str(&text).unwrap_or_default();
    let names_data = settings["data"]["source"].is_string();
    Ok(Found { spec, names_data })
}

/// The preset that was probably meant.
fn similar(target: &str) -> String {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let paper = PAPER_TABLE.iter().flat_map(|row| [(row.preset, row.preset), (row.name, row.preset)]);
    let paper = paper.map(|(name, preset)| (name.to_owned(), preset.to_owned()));
    let families = named_families().into_iter().flat_map(|family| {
        let [small, large] = family.presets();
        [(small.clone(), small), (large.clone(), large.clone()), (family.name.to_owned(), large)]
    });
    let close = paper.chain(families).find(|(name, _)| plain(name) == plain(target));
    close.map_or(String::new(), |(_, preset)| format!(" (did you mean `{preset}`?)"))
}

/// The settings of `PRESET`, `FILE.toml` or a run directory, for the data that was asked for.
pub(crate) fn find_for(target: &str, asked: Option<&str>) -> Result<Found, Failure> {
    let Found { mut spec, names_data } = find(target)?;
    if let Some(text) = asked.filter(|_| names_data) {
        spec.data = spec.data.for_other_data(text.into());
    }
    Ok(Found { spec, names_data })
}

/// The settings with `--set` assignments applied, and whether one of them names the data.
pub(crate) fn assigned(found: Found, assignments: &[String]) -> Result<Found, Failure> {
    let names_data =
        assignments.iter().any(|a| a.split('=').next().is_some_and(|k| k.trim() == "data.source"));
    let spec = found.spec.with_assignments(assignments)?;
    Ok(Found { spec, names_data: found.names_data || names_data })
}

/// Settles where the data comes from, with absolute paths.
pub(crate) fn settle_data(context: &Context, found: Found, asked: Option<&str>) -> RunSpec {
    let mut spec = found.spec;
    let source = match asked {
        Some(text) => source::named(text),
        None if found.names_data => source::named(&spec.data.source),
        None => source::usual(context),
    };
    spec.data.source = source.to_string();
    spec
}

/// The device that was asked for.
pub(crate) fn open_device(machine: &Machine) -> Result<Device, Failure> {
    device_of(machine, 0)
}

/// The device that was asked for; of several GPUs, one for each process of this machine.
pub(crate) fn device_of(machine: &Machine, process: usize) -> Result<Device, Failure> {
    match machine.device {
        DeviceName::Cpu => Ok(Device::cpu(machine.threads)),
        DeviceName::Cuda => cuda(machine, process),
    }
}

#[cfg(feature = "cuda")]
fn cuda(machine: &Machine, process: usize) -> Result<Device, Failure> {
    use hmcvi::device::Precision;
    let precision = match machine.precision {
        crate::arguments::PrecisionName::Tf32 => Precision::Tf32,
        crate::arguments::PrecisionName::F32 => Precision::F32,
    };
    // Compiled kernels are kept beside the data; without a cache folder they are compiled every time.
    let cache = source::cache("kernels").ok().and_then(|data| Some(data.parent()?.join("kernels")));
    Ok(Device::cuda(process % Device::cards().max(1), precision, cache)?)
}

#[cfg(not(feature = "cuda"))]
fn cuda(_: &Machine, _: usize) -> Result<Device, Failure> {
    Err(Failure::Device("`--device cuda`: this build has no CUDA support".into()).then(
        "use `--device cpu`, or build with CUDA: `cargo install --path crates/hmcvi-cli --features cuda`",
    ))
}

/// A trained model, ready to be used.
pub(crate) struct Model {
    /// Where it lies; the model inside the program lies nowhere.
    pub(crate) directory: Option<RunDirectory>,
    pub(crate) spec: RunSpec,
    pub(crate) data: Arc<Dataset>,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) device: Device,
}

impl Model {
    /// The model and the family that its settings describe.
    pub(crate) fn problem(&self) -> Problem {
        Problem::of_run(&self.spec, self.data.train().columns())
    }
}

/// A trained model without its data.
pub(crate) struct Network {
    directory: Option<RunDirectory>,
    pub(crate) spec: RunSpec,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) device: Device,
}

impl Network {
    /// The size of its rows.
    pub(crate) fn size(&self) -> Result<Size, Failure> {
        let pixels = self.spec.model.columns(&self.checkpoint.store).ok_or_else(|| {
            Failure::Other(
                "the checkpoint has no decoder with the layers of config.toml: was one of them changed?"
                    .into(),
            )
        })?;
        let info = self.directory.as_ref().and_then(|directory| directory.info().ok());
        // Early records name neither columns nor a shape; they are all of images.
        let (shape, columns) = info.map_or((None, None), |info| (info.image_shape, info.columns));
        Ok(match (shape, columns) {
            (None, Some(_)) => Size::Row(pixels),
            _ => Size::Image(image_shape(shape, pixels)),
        })
    }

    /// The data that it was trained with, if that is still there.
    pub(crate) fn own_data(&self) -> Option<Dataset> {
        let known = self.directory.as_ref()?.info().ok()?.data_sha256;
        open_data(&self.spec.data).ok().filter(|data| data.sha256() == known)
    }
}

/// The size of what a model makes.
#[derive(Clone, Copy)]
pub(crate) enum Size {
    /// Height and width.
    Image([usize; 2]),
    /// Columns.
    Row(usize),
}

impl Size {
    pub(crate) fn of(table: &Table) -> Size {
        table.shape().map_or(Size::Row(table.columns()), |(height, width)| Size::Image([height, width]))
    }

    /// The length of each axis.
    pub(crate) fn lengths(&self) -> &[usize] {
        match self {
            Size::Image(lengths) => lengths,
            Size::Row(columns) => std::slice::from_ref(columns),
        }
    }
}

/// Opens a run, or the model inside the program, with its checkpoint. Whether its data exists does not matter.
pub(crate) fn open_network(trained: &Trained) -> Result<Network, Failure> {
    let Trained { chosen, checkpoint, machine, .. } = trained;
    let device = open_device(machine)?;
    let (directory, spec, checkpoint, _) = open_checkpoint(chosen.run(), (*checkpoint).into())?;
    Ok(Network { directory, spec, checkpoint, device })
}

/// Opens a run, or the model inside the program, with its checkpoint and data.
pub(crate) fn open_trained(context: &Context, trained: &Trained) -> Result<Model, Failure> {
    let Trained { chosen, checkpoint, data, machine } = trained;
    open_model(context, chosen.run(), (*checkpoint).into(), data.data.as_deref(), machine)
}

/// The same for a run that was found otherwise; `None` is the model inside the program.
pub(crate) fn open_model(
    context: &Context,
    run: Option<&Path>,
    which: Which,
    data: Option<&str>,
    machine: &Machine,
) -> Result<Model, Failure> {
    let device = open_device(machine)?;
    let (directory, mut spec, checkpoint, trained_on) = open_checkpoint(run, which)?;
    // The embedded images are a part of those that the model inside the program was trained and tested with.
    let trained_on = trained_on.filter(|_| run.is_some() || data.is_some_and(|d| d != "embedded"));
    let data = source::open_for_model(context, &mut spec, &checkpoint, data, trained_on.as_deref())?;
    Ok(Model { directory, spec, data, checkpoint, device })
}

/// Where a model lies, its settings, its parameters, and the SHA-256 of the data that it was trained with.
type Opened = (Option<RunDirectory>, RunSpec, Checkpoint, Option<String>);

fn open_checkpoint(run: Option<&Path>, which: Which) -> Result<Opened, Failure> {
    let Some(path) = run else {
        let Builtin { spec, checkpoint, provenance } = Builtin::open()?;
        return Ok((None, spec, checkpoint, Some(provenance.data_sha256)));
    };
    let directory = RunDirectory::open(path)?;
    let (spec, mut checkpoint) = (directory.spec()?, directory.checkpoint(which)?);
    checkpoint.store = learnt(&checkpoint.store);
    let known = directory.info().ok().map(|info| info.data_sha256);
    Ok((Some(directory), spec, checkpoint, known))
}

/// The row of the paper's table that settings describe, if they still do.
pub(crate) fn paper_row(spec: &RunSpec) -> Option<&'static PaperRow> {
    let named = PAPER_TABLE.iter().find(|row| Some(row.preset) == spec.preset.as_deref())?;
    (named.latent == spec.model.latent
        && named.chain == spec.chain
        && spec.family == FamilySettings::default())
    .then_some(named)
}
