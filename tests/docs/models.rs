//! Models of the documentation: run on their data, or refused with the message printed below them.

use super::markdown::{Block, blocks};
use fitzroy::data::{Dataset, read_file};
use fitzroy::model::Model;
use fitzroy::run::{Caller, Settings, bind, run};

/// Checks the models of a document; gives their number.
pub(crate) fn check(name: &str, text: &str) -> usize {
    let blocks = blocks(name, text);
    let mut n = 0;
    for (k, block) in blocks.iter().enumerate() {
        match block.info.as_str() {
            "fz" => works(block),
            // Files are run by the test of the quickstart.
            "fz error" if block.noted("file").is_none() => fails(block, &blocks[k + 1].text),
            _ => continue,
        }
        n += 1;
    }
    n
}

fn data(block: &Block) -> Dataset {
    let mut data = Dataset::new();
    let Some(text) = block.noted("data") else {
        return data;
    };
    let name = format!("fitzroy-docs-{}-{}.json", std::process::id(), block.start);
    let path = std::env::temp_dir().join(name);
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

fn works(block: &Block) {
    if let Err(error) = attempt(block) {
        panic!("{}: {error}", block.place);
    }
}

fn fails(block: &Block, message: &str) {
    match attempt(block) {
        Ok(()) => panic!("{}: this was to fail", block.place),
        Err(error) => assert_eq!(error.to_string(), message.trim_end(), "{}", block.place),
    }
}
