//! A benchmark as a page: what is fastest, what did not converge, every number.

use super::show::median;
use fitzroy_report::draw::Scene;
use fitzroy_report::figure::said;
use fitzroy_report::page::{Block, Card, Cell, Column, Page, Section, State, Table, Verdict};
use serde_json::Value;

/// What a page is made of.
pub(super) struct Shown<'a> {
    /// The document of the benchmark, rows included.
    pub(super) document: &'a Value,
    /// What the rows are: "CPU beside GPU".
    pub(super) kind: &'a str,
    /// Keys that name a row.
    pub(super) names: &'a [&'a str],
    /// Keys of numbers, each with a median.
    pub(super) columns: &'a [&'a str],
    /// The number that says which row is the fastest.
    pub(super) rate: &'a str,
    /// Its figure.
    pub(super) scene: Scene,
    /// The rows as CSV.
    pub(super) csv: String,
}

impl Shown<'_> {
    /// The page as HTML.
    pub(super) fn html(self) -> String {
        let mut page = Page::new(format!("fitzroy bench {}", text(&self.document["bench"])));
        page.kind = self.kind.into();
        let fact = |name: &str, value: &Value| (name.to_string(), text(value));
        page.facts = vec![
            fact("processor", &self.document["device"]["name"]),
            fact("vectors", &self.document["device"]["simd"]),
            fact("threads", &self.document["threads"]),
            fact("repeats", &self.document["repeats"]),
            fact("seed", &self.document["seed"]),
            fact("commit", &self.document["commit"]),
        ];
        page.facts.retain(|(_, value)| !value.is_empty());
        page.verdict = Some(self.verdict());
        page.cards = self.cards();
        let files = ["benchmark.csv", "benchmark.json"];
        let mut blocks = vec![Block::Table(self.table())];
        blocks.extend(files.map(|name| Block::Download(name.into())));
        let table = Section::new("Medians", blocks);
        let caption = "Bars are medians over the repeats, whiskers the least and the greatest.";
        let document = format!("{:#}\n", self.document);
        let figure = Block::Figure {
            scene: self.scene,
            caption: caption.into(),
        };
        page.sections = vec![Section::new("Speed", vec![figure]), table];
        let contents = [self.csv, document];
        page.downloads = files.map(String::from).into_iter().zip(contents).collect();
        page.footer = format!("fitzroy {}", text(&self.document["version"]));
        page.html()
    }

    fn rows(&self) -> &[Value] {
        self.document["rows"].as_array().map_or(&[], Vec::as_slice)
    }

    fn name(&self, row: &Value) -> String {
        let parts = self.names.iter().map(|key| match *key {
            "rewrites" => format!("rewrites {}", text(&row[*key])),
            "chains" => format!("{} chains", text(&row[*key])),
            _ => text(&row[*key]),
        });
        parts
            .filter(|p| !p.is_empty())
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn verdict(&self) -> Verdict {
        let is_bad = |row: &&Value| row["converged"] != true;
        let bad: Vec<&Value> = self.rows().iter().filter(is_bad).collect();
        let detail = "Answers were compared with the exact ones before any time was taken.";
        let (state, headline) = match bad.len() {
            0 => (State::Good, "Every row converged".into()),
            1 => (State::Warn, "1 row did not converge".into()),
            n => (State::Warn, format!("{n} rows did not converge")),
        };
        let advice = "its draws a second are of no use: compare the others";
        let finding = |row: &&Value| (self.name(row), advice.to_string());
        Verdict {
            findings: bad.iter().map(finding).collect(),
            ..Verdict::new(state, &headline, detail)
        }
    }

    fn cards(&self) -> Vec<Card> {
        let rate = |row: &&Value| median(row, self.rate);
        let sound = self.rows().iter().filter(|row| row["converged"] == true);
        let best = sound.max_by(|a, b| rate(a).total_cmp(&rate(b)));
        let mut cards = vec![Card::new("rows", &self.rows().len().to_string())];
        cards.extend(best.map(|row| {
            let card = Card::new(&words(self.rate), &said(median(row, self.rate)));
            card.note(format!("at most: {}", self.name(row)))
        }));
        cards
    }

    fn table(&self) -> Table {
        let names = self.names.iter().map(|name| Column::text(&words(name)));
        let numbers = self.columns.iter();
        let numbers = numbers.map(|key| Column::number(&words(key), "median over the repeats"));
        let row = |row: &Value| -> Vec<Cell> {
            let mut cells: Vec<Cell> = Vec::new();
            cells.extend(self.names.iter().map(|key| Cell::from(text(&row[*key]))));
            cells.push(match row["converged"] == true {
                true => Cell::from("✓ yes").state(State::Good),
                false => Cell::from("✗ no").state(State::Bad),
            });
            cells.extend(self.columns.iter().map(|key| Cell::from(number(row, key))));
            cells
        };
        Table {
            columns: names
                .chain([Column::text("converged")])
                .chain(numbers)
                .collect(),
            rows: self.rows().iter().map(row).collect(),
            ..Table::default()
        }
    }
}

/// A key as people say it.
fn words(key: &str) -> String {
    match key {
        "min_ess_bulk" => "ESS, bulk".into(),
        "min_ess_tail" => "ESS, tail".into(),
        "max_rhat" => "R-hat".into(),
        "ess_bulk_per_gradient" => "ESS a gradient".into(),
        "ess_bulk_per_sampling_s" => "ESS/s of sampling".into(),
        "ess_bulk_per_chains_s" => "ESS/s of chains".into(),
        "ess_bulk_per_written_s" => "ESS/s to the disk".into(),
        "gradients_per_s" => "gradients/s".into(),
        "warmup_s" => "warm-up, s".into(),
        _ => match key.strip_suffix("_s") {
            Some(stage) => format!("{stage}, s"),
            None => key.into(),
        },
    }
}

/// R-hat is near 1, where three figures say nothing.
fn number(row: &Value, key: &str) -> String {
    match key {
        "max_rhat" => format!("{:.4}", median(row, key)),
        _ => said(median(row, key)),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
