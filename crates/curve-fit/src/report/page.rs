//! The report of a fit as one HTML file.

use super::figure::{cost_figure, fit_figure};
use super::image::image_figure;
use super::parts;
use super::regions::region_figure;
use super::shown::Shown;
use super::spread::residual_figure;
use super::text::{Timing, beside, grouped, significant};
use crate::fit::{CovarianceStatus, Estimate, Quality, Regions, Standing, quantile};
use crate::formula::Loss;
use fitzroy_report::figure::Style;
use fitzroy_report::page::{Block, Card, Cell, Column, Page, Section, State, Table, Verdict};

/// What a page tells besides the estimate.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// The command line.
    pub command: String,
    /// Where it was computed.
    pub device: String,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Seconds spent.
    pub timing: Timing,
    /// Profile-likelihood intervals: name and ends.
    pub profiles: Vec<(String, f64, f64)>,
    /// How χ² rises around the fit, if it was asked for.
    pub regions: Regions,
    /// The cost at each step.
    pub costs: Vec<f64>,
}

/// The page of a fit: verdict, figure with residuals, parameters, correlations, what it took.
pub fn fit_page(e: &Estimate, quality: &Quality, shown: &Shown, told: &Told) -> Page {
    let style = Style::default();
    let mut page = Page::new(&e.model);
    page.kind = "Curve fit".into();
    let fact = |name: &str, value: String| (name.to_string(), value);
    page.facts = vec![
        fact("rows", grouped(e.n)),
        fact("predictors", e.predictors.join(", ")),
        fact("response", shown.up.clone()),
        fact("device", told.device.clone()),
        fact("seed", told.seed.to_string()),
    ];
    page.verdict = Some(verdict(e, quality));
    page.cards = cards(e, quality, told);
    let width = match e.loss {
        Loss::Poisson => "wider where counts are higher",
        _ => "equally wide everywhere",
    };
    let caption = format!(
        "Above: the data, the curve, the band that holds the curve, and the wider one that holds new \
         observations. Below: what is left. It should look like noise around the line, without waves \
         and {width}."
    );
    let mut fit = vec![Block::Figure {
        scene: fit_figure(shown, e.confidence, &style),
        caption,
    }];
    fit.extend(image_figure(shown, &style).map(|scene| Block::Figure {
        scene,
        caption: "What is left, on the right, should show no part of what is on the left.".into(),
    }));
    page.sections.push(Section::new("Fit", fit));
    page.sections.push(Section::new(
        "Parameters",
        vec![Block::Table(parameters(e, told))],
    ));
    if !shown.parts.is_empty() {
        page.sections.push(Section::new(
            "Terms",
            vec![Block::Table(parts::table(&shown.parts))],
        ));
    }
    if e.popt.len() > 1 && e.pcov.iter().any(|x| x.is_finite()) {
        page.sections.push(Section::new(
            "Correlations",
            vec![Block::Table(correlations(e))],
        ));
    }
    page.sections.extend(confidence(e, told, &style));
    page.sections
        .push(Section::new("Residuals", residuals(shown, quality, &style)));
    let mut work = vec![Block::Facts(facts(e, told))];
    work.extend(cost_figure(&told.costs, &style).map(|scene| Block::Figure {
        scene,
        caption: "Each step is one pass through the rows it was made on.".into(),
    }));
    page.sections
        .push(Section::new("What it took", work).folded());
    page.sections.push(Section::model(&e.model, &told.command));
    let cite = CITATIONS.iter().map(|c| Block::Text((*c).into())).collect();
    page.sections.push(Section::new("Citations", cite).folded());
    page.footer = format!(
        "Fitzroy {}. Intervals hold the truth in {} % of repetitions.",
        env!("CARGO_PKG_VERSION"),
        significant(100.0 * e.confidence, 3)
    );
    page
}

/// Profiles and contours, if they were asked for.
fn confidence(e: &Estimate, told: &Told, style: &Style) -> Option<Section> {
    let scene = region_figure(&told.regions, quantile(e), style)?;
    let caption = "Blue: how χ² rises as a parameter moves and the others are fitted again; where it crosses the \
                   line the interval ends. Grey: what the covariance stands for. Where they part, intervals by \
                   standard errors are wrong on that side. Of two parameters: where both lie."
        .into();
    let figure = Block::Figure { scene, caption };
    Some(Section::new("Confidence regions", vec![figure]))
}

/// What the sum that a fit makes small is called.
fn misfit(e: &Estimate) -> &'static str {
    match e.loss {
        Loss::Poisson => "deviance per degree of freedom",
        _ => "χ² per degree of freedom",
    }
}

fn verdict(e: &Estimate, quality: &Quality) -> Verdict {
    let state = match e.standing() {
        Standing::Bad => State::Bad,
        Standing::Questioned => State::Warn,
        Standing::Good => State::Good,
    };
    let detail = format!(
        "{}; R² {:.4}; {} {}",
        e.status.name().replace('_', " "),
        quality.r2,
        misfit(e),
        significant(e.reduced_chi2(), 4)
    );
    let mut verdict = Verdict::new(state, &e.headline(), &detail);
    // What stands behind a semicolon is what to do.
    let split = |text: &String| match text.split_once("; ") {
        Some((fact, advice)) => (fact.to_string(), advice.to_string()),
        None => (text.clone(), String::new()),
    };
    verdict.findings = e.findings.iter().map(split).collect();
    verdict
}

fn cards(e: &Estimate, quality: &Quality, told: &Told) -> Vec<Card> {
    let errors = match e.covariance_status {
        CovarianceStatus::Ok => State::Plain,
        _ => State::Warn,
    };
    vec![
        Card::new(misfit(e), &significant(e.reduced_chi2(), 4))
            .note(format!("{} degrees of freedom", grouped(e.dof))),
        Card::new("R²", &format!("{:.5}", quality.r2)),
        Card::new("AIC", &significant(quality.aic, 6))
            .note(format!("BIC {}", significant(quality.bic, 6))),
        Card::new("errors", e.covariance_kind)
            .note(e.covariance_status.name().replace('_', " "))
            .state(errors),
        Card::new("evaluations", &grouped(e.evaluations))
            .note(format!("{} reads of all rows", e.full_reads)),
        Card::new("time", &super::text::milliseconds(told.timing.fit)).note(format!(
            "{} in all",
            super::text::milliseconds(told.timing.total)
        )),
    ]
}

fn parameters(e: &Estimate, told: &Told) -> Table {
    let level = format!("{} % interval", significant(100.0 * e.confidence, 3));
    let mut columns = vec![
        Column::text("name"),
        Column::number("value", "estimate"),
        Column::number("SE", "standard error"),
        Column::number(&format!("{level}, from"), "lower end"),
        Column::number("to", "upper end"),
    ];
    if !told.profiles.is_empty() {
        columns.push(Column::number("profile, from", "by profile likelihood"));
        columns.push(Column::number("profile, to", "by profile likelihood"));
    }
    columns.push(Column::text("note"));
    let row = |f: &crate::fit::Fitted| -> Vec<Cell> {
        let mut cells: Vec<Cell> = vec![
            f.name.clone().into(),
            beside(f.value, f.se).into(),
            significant(f.se, 3).into(),
            beside(f.ci_lower, f.se).into(),
            beside(f.ci_upper, f.se).into(),
        ];
        if !told.profiles.is_empty() {
            let own = told.profiles.iter().find(|p| p.0 == f.name);
            let end = |x: Option<f64>| Cell::from(x.map_or("–".into(), |x| beside(x, f.se)));
            cells.extend([end(own.map(|p| p.1)), end(own.map(|p| p.2))]);
        }
        let note = Cell::from(super::text::note(f));
        cells.push(if f.at_bound {
            note.state(State::Warn)
        } else {
            note
        });
        cells
    };
    Table {
        columns,
        rows: e.parameters.iter().map(row).collect(),
        ..Table::default()
    }
}

fn correlations(e: &Estimate) -> Table {
    let p = e.popt.len();
    let all = e.correlation();
    let mut columns = vec![Column::text("")];
    columns.extend(e.free.iter().map(|n| Column::number(n, "correlation with")));
    let row = |i: usize| -> Vec<Cell> {
        let mut cells = vec![Cell::from(e.free[i].clone())];
        cells.extend((0..p).map(|j| {
            let c = all[i * p + j];
            let text = if c.is_finite() {
                format!("{c:.3}").replace('-', "−")
            } else {
                "–".into()
            };
            let grave = i != j && c.abs() > 0.99;
            Cell::from(text).state(if grave { State::Warn } else { State::Plain })
        }));
        cells
    };
    Table {
        columns,
        rows: (0..p).map(row).collect(),
        note: "Above 0.99 in size, the data hardly tell the two apart.".into(),
        ..Table::default()
    }
}

fn residuals(shown: &Shown, q: &Quality, style: &Style) -> Vec<Block> {
    let caption = "Left: how residuals are spread, against a normal distribution of the same \
                   width. Middle: points on the line are normal; ends that bend away are outliers, \
                   for which there is a robust loss. Right: how alike residuals are that stand so far \
                   apart; bars beyond the band, or far fewer runs than expected, are a pattern.";
    let facts = vec![
        ("RMSE".to_string(), significant(q.rmse, 5)),
        ("mean absolute error".to_string(), significant(q.mae, 5)),
        ("runs of one sign, p".to_string(), significant(q.runs_p, 2)),
        (
            "Durbin-Watson (2 without serial correlation)".to_string(),
            format!("{:.3}", q.durbin_watson),
        ),
        ("normality, p".to_string(), significant(q.normality_p, 2)),
    ];
    vec![
        Block::Figure {
            scene: residual_figure(shown, style),
            caption: caption.into(),
        },
        Block::Facts(facts),
    ]
}

fn facts(e: &Estimate, told: &Told) -> Vec<(String, String)> {
    let t = &told.timing;
    let pairs = [
        ("method", e.method.clone()),
        ("loss", e.loss.name().to_string()),
        ("condition", significant(e.condition, 3)),
        ("rank", e.rank.to_string()),
        ("rows of the subsample", grouped(e.subsample_rows)),
        ("finish", e.finish.to_string()),
        ("reading", super::text::milliseconds(t.read)),
        ("compilation", super::text::milliseconds(t.compile)),
        ("fit", super::text::milliseconds(t.fit)),
    ];
    pairs.map(|(name, value)| (name.to_string(), value)).into()
}

const CITATIONS: [&str; 4] = [
    "Damped steps: Marquardt. Journal of the Society for Industrial and Applied Mathematics 11 \
     (1963). Moré. Lecture Notes in Mathematics 630 (1978). Nielsen. IMM-REP-1999-05 (1999).",
    "Geodesic acceleration: Transtrum, Sethna. arXiv:1201.5885 (2012).",
    "Variable projection: Golub, Pereyra. SIAM Journal on Numerical Analysis 10 (1973). Kaufman. \
     BIT 15 (1975).",
    "Errors of robust fits: Huber. Proceedings of the Fifth Berkeley Symposium (1967). White. \
     Econometrica 48 (1980).",
];
