//! Models of the documentation: run on their data, or refused with the message printed below them.

use super::markdown::{Block, blocks};
use fitzroy::data::{Dataset, read_file};
use fitzroy::model::Model;
use fitzroy::run::{Caller, Settings, bind, run};
use std::path::PathBuf;

/// Checks the models of a document; gives their number, and what is wrong with them.
pub(crate) fn check(name: &str, text: &str) -> (usize, Vec<String>) {
    let blocks = blocks(name, text);
    let mut n = 0;
    let mut wrong = Vec::new();
    for (k, block) in blocks.iter().enumerate() {
        let message = match block.info.as_str() {
            "fz" => None,
            // Files are run by the test of the quickstart.
            "fz error" if block.noted("file").is_none() => Some(blocks[k + 1].text.trim_end()),
            _ => continue,
        };
        n += 1;
        let path = data_file(block).display().to_string();
        let got = attempt(block).err();
        let got = got.map(|error| error.to_string().replace(&path, "data.json"));
        if got.as_deref() != message {
            let (got, message) = (got.unwrap_or_default(), message.unwrap_or("no error"));
            wrong.push(format!("{}: {got}\n  wanted: {message}", block.place));
        }
    }
    (n, wrong)
}

/// Where the data of a block are written, to be read as any other file.
fn data_file(block: &Block) -> PathBuf {
    let name = format!("fitzroy-docs-{}-{}.json", std::process::id(), block.start);
    std::env::temp_dir().join(name)
}

fn data(block: &Block) -> Dataset {
    let mut data = Dataset::new();
    let Some(text) = block.noted("data") else {
        return data;
    };
    let path = data_file(block);
    std::fs::write(&path, text).unwrap();
    let arrays = read_file(&path);
    std::fs::remove_file(&path).unwrap();
    for array in arrays.unwrap_or_else(|e| panic!("{}: {e}", block.place)) {
        data.insert(array);
    }
    data
}

fn attempt(block: &Block) -> fitzroy::Result<()> {
    let mut settings = Settings::default();
    settings.sampler.chains = 2;
    settings.sampler.tune = 50;
    settings.sampler.draws = 5;
    settings.predictive = true;
    settings.log_likelihood = true;
    let model = Model::parse(&block.text)?;
    let joint = bind(&model, &data(block), &settings)?;
    let outcome = run(&joint, &settings, &Caller::silent())?;
    assert_eq!(outcome.run.n_draws(), 5, "{}", block.place);
    Ok(())
}
