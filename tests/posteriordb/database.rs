//! The files of a checkout of posteriordb, and what is renamed on the way.

use super::support::repository;
use fitzroy::data::{Dataset, Values, read_file};
use fitzroy::model::Model;
use fitzroy::model::joint::Joint;
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The variable that holds the path of a checkout.
pub(super) const VARIABLE: &str = "FITZROY_POSTERIORDB";

/// Names that the language has for something else, with those that stand in the texts.
const RENAMED: [(&str, &str, &str); 1] = [("election88_full", "e", "e_")];

/// A posterior of the database: a model with data.
pub(super) struct Posterior {
    pub(super) name: String,
    pub(super) model: String,
    data: String,
    reference: Option<String>,
}

/// A checkout of the database.
pub(super) struct Database(PathBuf);

impl Database {
    /// The one that the environment names; says that `test` is skipped where it names none.
    #[allow(clippy::print_stderr)]
    pub(super) fn of_environment(test: &str) -> Option<Database> {
        let Some(path) = std::env::var_os(VARIABLE) else {
            eprintln!("skipped: {test}: {VARIABLE} names no checkout of posteriordb");
            return None;
        };
        Some(Database(Path::new(&path).join("posterior_database")))
    }

    /// All of them, or those whose name holds `FITZROY_POSTERIORDB_ONLY`.
    pub(super) fn posteriors(&self) -> Vec<Posterior> {
        let only = std::env::var("FITZROY_POSTERIORDB_ONLY").unwrap_or_default();
        let folder = self.0.join("posteriors");
        let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{folder:?}: {e}"));
        let mut all: Vec<Posterior> = files
            .map(|file| {
                let text = std::fs::read(file.unwrap().path()).unwrap();
                let entry: Value = serde_json::from_slice(&text).unwrap();
                let text = |key: &str| entry[key].as_str().map(String::from);
                Posterior {
                    name: text("name").unwrap(),
                    model: text("model_name").unwrap(),
                    data: text("data_name").unwrap(),
                    reference: text("reference_posterior_name"),
                }
            })
            .filter(|p| p.name.contains(&only))
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The data of a posterior; what is wrong where they are not in the checkout.
    pub(super) fn data(&self, posterior: &Posterior) -> Result<Dataset, String> {
        let packed = format!("data/data/{}.json.zip", posterior.data);
        let text = self.unpacked(&packed)?;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("posteriordb");
        std::fs::create_dir_all(&folder).unwrap();
        // Tests run side by side.
        let reader = std::thread::current().id();
        let file = folder.join(format!("{}-{reader:?}.json", posterior.data));
        std::fs::write(&file, text).unwrap();
        let mut data = Dataset::new();
        let arrays = read_file(&file).map_err(|e| e.to_string());
        std::fs::remove_file(&file).unwrap();
        arrays?.into_iter().for_each(|array| data.insert(array));
        if posterior.model == "gpcm_latent_reg_irt" {
            let n_steps = steps_of_items(&data);
            data.insert_real("n_steps", &[], vec![n_steps]);
        }
        Ok(data)
    }

    /// The reference draws of a posterior, where there are any: chains of named series.
    pub(super) fn reference(&self, posterior: &Posterior) -> Option<Vec<Value>> {
        let name = posterior.reference.as_ref()?;
        let packed = format!("reference_posteriors/draws/draws/{name}.json.zip");
        let text = self.unpacked(&packed).ok()?;
        let chains: Value = serde_json::from_slice(&text).unwrap();
        Some(chains.as_array().unwrap().clone())
    }

    fn unpacked(&self, path: &str) -> Result<Vec<u8>, String> {
        let path = self.0.join(path);
        let file = std::fs::File::open(&path).map_err(|e| format!("{path:?}: {e}"))?;
        let mut archive = zip::ZipArchive::new(file).map_err(|e| format!("{path:?}: {e}"))?;
        let mut text = Vec::new();
        let mut member = archive.by_index(0).map_err(|e| e.to_string())?;
        member.read_to_end(&mut text).map_err(|e| e.to_string())?;
        Ok(text)
    }
}

/// The sum of the highest answers to each item, which no dim can be computed as.
fn steps_of_items(data: &Dataset) -> f64 {
    let numbers = |name: &str| match &data.get(name).unwrap().values {
        Values::Real(v) => v.clone(),
        Values::Text(_) => panic!("{name} holds text"),
    };
    let mut highest = std::collections::BTreeMap::new();
    for (item, answer) in numbers("ii").iter().zip(numbers("y")) {
        let best: &mut f64 = highest.entry(*item as usize).or_default();
        *best = best.max(answer);
    }
    highest.values().sum()
}

/// The texts, by name.
pub(super) fn texts() -> Vec<(String, String)> {
    let folder = repository("models/posteriordb");
    let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{folder:?}: {e}"));
    let files = files.map(|file| file.unwrap().path());
    let models = files.filter(|path| path.extension().is_some_and(|e| e == "fz"));
    let mut all: Vec<(String, String)> = models
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    all.sort();
    all
}

/// The text of a model, bound to the data of a posterior.
pub(super) fn bound(database: &Database, posterior: &Posterior) -> Result<Joint, String> {
    let path = repository(&format!("models/posteriordb/{}.fz", posterior.model));
    let text = std::fs::read_to_string(&path).map_err(|_| "no text".to_string())?;
    let data = database.data(posterior)?;
    let text_of = |e: fitzroy::Error| e.to_string();
    let model = Model::parse(&text).map_err(text_of)?;
    let binding = model.bind(&data).map_err(text_of)?;
    Joint::new(&model, binding).map_err(text_of)
}

/// What the text of `model` calls `name`.
pub(super) fn renamed(model: &str, name: &str) -> String {
    let row = RENAMED.iter().find(|r| r.0 == model && r.1 == name);
    row.map_or(name, |r| r.2).into()
}
