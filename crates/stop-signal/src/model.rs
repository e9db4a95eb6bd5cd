//! The hierarchical models as text of the language, and the data they are bound to.

use crate::correlations::Conditional;
use crate::data::{Row, Study};
use crate::params::Parameter;
use crate::priors::{Prior, defaults};
use fitzroy::data::{Array, Dataset};
use fitzroy::{Error, ErrorKind, Named, Result};
use std::fmt::Write;

pub use crate::params::Kind;

/// Whether subjects come from one population.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Yes, and what is common is estimated.
    Partial,
    /// No: each has a prior of its own.
    None,
}

impl Named for Pooling {
    const NAMES: &'static [(&'static str, Self)] =
        &[("partial", Pooling::Partial), ("none", Pooling::None)];

    fn meaning(self) -> &'static str {
        match self {
            Pooling::Partial => "One population, what is common is estimated",
            Pooling::None => "Each subject with a prior of its own",
        }
    }
}

/// What is to be fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The model.
    pub kind: Kind,
    /// The hierarchy.
    pub pooling: Pooling,
    /// Priors of the parameters, in the order of [`Kind::parameters`].
    pub priors: Vec<Prior>,
    /// Lower end of the stop time, seconds; −∞ for none.
    pub stop_lb: f64,
    /// Lower end of the go times of an ex-Gaussian race, seconds.
    pub go_lb: f64,
    /// Responses are not counted after this, seconds; ∞ for none.
    pub deadline: f64,
    /// Nodes on each part of the integral.
    pub nodes: usize,
    /// Parameters whose coordinates are centred, whatever the data say.
    pub centred: Vec<String>,
    /// Likewise non-centred.
    pub noncentred: Vec<String>,
    /// Whether what is particular to subjects is correlated, and η of the LKJ prior of the matrix.
    pub correlated: Option<f64>,
    /// Parameters whose logarithm, or probit, has a slope on a covariate, and its name.
    pub slopes: Vec<(String, String)>,
    /// Where subjects are apart for a time, under an interim population (see [`crate::combine::apart`]): the
    /// model of all, by which they are combined.
    pub population: Option<String>,
}

impl Default for Spec {
    fn default() -> Self {
        Spec::new(Kind::Rdex)
    }
}

impl Spec {
    /// A model with its own priors.
    pub fn new(kind: Kind) -> Self {
        Spec {
            kind,
            pooling: Pooling::Partial,
            priors: defaults(kind),
            stop_lb: 0.05,
            go_lb: 0.05,
            deadline: f64::INFINITY,
            nodes: 24,
            centred: Vec::new(),
            noncentred: Vec::new(),
            correlated: None,
            slopes: Vec::new(),
            population: None,
        }
    }

    /// Names of the parameters of a subject.
    pub fn names(&self) -> Vec<&'static str> {
        self.kind.parameter_names()
    }

    /// Parameters of a subject of a model of stopping, with their priors.
    pub(crate) fn priors(&self) -> impl Iterator<Item = (&'static Parameter, &Prior)> {
        self.kind.parameters().iter().zip(&self.priors)
    }

    /// What happened, as the model sees it: 0 none, 1 the right response or any, 2 the wrong one.
    pub fn outcome(&self, row: &Row) -> u8 {
        match self.kind.is_single() {
            true => row.outcome().min(1),
            false => row.outcome(),
        }
    }

    /// The coordinates that are asked for, as the language says it.
    fn coordinates(&self, name: &str) -> &'static str {
        match (
            self.centred.iter().any(|n| n == name),
            self.noncentred.iter().any(|n| n == name),
        ) {
            (true, _) => " @ centred",
            (_, true) => " @ noncentred",
            _ => "",
        }
    }

    /// Refuses names that are no parameters.
    ///
    /// # Errors
    /// One is not, or is asked to be both.
    pub fn check(&self) -> Result<()> {
        if !self.slopes.is_empty() && (!self.kind.stops() || self.pooling == Pooling::None) {
            let message = "slopes are on the parameters of a population, which there is with \
                           ⟨pooling partial⟩ and not in the Wald baseline";
            return Err(Error::new(ErrorKind::Usage, message));
        }
        if let Some(eta) = self.correlated {
            if !self.kind.stops() || self.pooling == Pooling::None {
                let message = "subjects' effects are correlated in a population, which there is with \
                               ⟨pooling partial⟩; in the Wald baseline they are truncated, and not normal";
                return Err(Error::new(ErrorKind::Usage, message));
            }
            if !(eta > 0.0 && eta.is_finite()) {
                let message = format!("⟨correlated {eta}⟩: η of the LKJ prior must be above 0");
                return Err(Error::new(ErrorKind::Usage, message));
            }
        }
        let names = self.names();
        for name in self.centred.iter().chain(&self.noncentred) {
            if !names.contains(&name.as_str()) {
                let message = format!("`{name}` is no parameter; there are {}", names.join(", "));
                return Err(Error::new(ErrorKind::Usage, message));
            }
            if self.centred.contains(name) && self.noncentred.contains(name) {
                let message = format!("`{name}` cannot be both centred and non-centred");
                return Err(Error::new(ErrorKind::Usage, message));
            }
        }
        Ok(())
    }

    /// The model.
    pub fn text(&self) -> String {
        match self.kind.stops() {
            true => self.of_stopping(),
            false => self.wald(),
        }
    }

    fn of_stopping(&self) -> String {
        let what = match self.kind {
            Kind::Rdex => "two racing Wald accumulators against an ex-Gaussian stop process",
            Kind::ExGaussian => "a race of ex-Gaussian times of both responses and of stopping",
            _ => "a race of an ex-Gaussian time of responding and one of stopping",
        };
        let mut out = format!(
            "# Stop-signal model: {what}\n\
             data outcome[trials], rt[trials], ssd[trials], who[trials] in subject\n",
        );
        let mut covariates: Vec<&String> = self.slopes.iter().map(|s| &s.1).collect();
        covariates.sort();
        covariates.dedup();
        for name in covariates {
            let _ = writeln!(out, "data {name}[subject]");
        }
        out.push('\n');
        let mut all: Vec<_> = self.priors().collect();
        let mut effects = self.correlated.map(|eta| {
            all = Conditional::ordered(self.kind, &all);
            Conditional::new(&mut out, self.kind, eta)
        });
        for (parameter, prior) in all {
            let _ = match parameter.probability {
                false => self.positive(&mut out, parameter, prior, &mut effects),
                true => self.probability(&mut out, parameter, prior, &mut effects),
            };
        }
        if let Some(effects) = effects {
            effects.record(&mut out);
        }
        let sums = self.kind.derived().iter().map(|d| {
            let sign = if d.sign > 0.0 { '+' } else { '-' };
            (d, sign)
        });
        if self.pooling == Pooling::Partial {
            for (d, sign) in sums.clone().filter(|(d, _)| d.of_population) {
                let _ = writeln!(out, "mu_{} = mu_{} {sign} mu_{}", d.name, d.left, d.right);
            }
        }
        for (d, sign) in sums {
            let _ = writeln!(out, "{}[subject] = {} {sign} {}", d.name, d.left, d.right);
        }
        let _ = writeln!(out, "\n{}", self.likelihood(|name| format!("{name}[who]")));
        out
    }

    /// The statement of a model of stopping about trials whose parameters `of` gives.
    pub(crate) fn likelihood(&self, of: impl Fn(&str) -> String) -> String {
        let given = self.names().into_iter().map(|n| format!("{n}={}", of(n)));
        let given: Vec<String> = given.collect();
        let (family, go_lb) = match self.kind {
            Kind::Rdex => ("StopSignal", String::new()),
            _ => ("StopSignalExGaussian", format!(", go_lb={}", self.go_lb)),
        };
        format!(
            "outcome[trials] ~ {family}(rt, ssd, {}, stop_lb={}{go_lb}, deadline={}, nodes={})",
            given.join(", "),
            self.stop_lb,
            self.deadline,
            self.nodes
        )
    }

    /// What a subject's parameter is expected to be: the centre and slopes, whose statements are added.
    fn expected(&self, out: &mut String, p: &Parameter, h: f64) -> String {
        let (name, centre) = (p.name, p.centre_name());
        let own: Vec<&String> = self
            .slopes
            .iter()
            .filter(|s| s.0 == name)
            .map(|s| &s.1)
            .collect();
        if own.is_empty() {
            return centre;
        }
        let mut sum = centre;
        for covariate in own {
            // As large as subjects differ anyway.
            let slope = format!("slope_{name}_{covariate}");
            let _ = writeln!(out, "{slope} ~ Normal(0, {h})");
            let _ = write!(sum, " + {slope} * {covariate}");
        }
        let _ = writeln!(out, "_expected_{name}[subject] = {sum}");
        format!("_expected_{name}")
    }

    /// log X ~ Normal(log mu_X, sigma_X).
    ///
    /// Where subjects say little, sigma_X is |s| for s ~ Normal(0, h), which is HalfNormal(h), and the
    /// effect is s z: the density is smooth where s crosses 0, while log sigma has a long tail there in
    /// which chains stay. (s, z) and (−s, −z) are the same, so neither is recorded.
    fn positive(
        &self,
        out: &mut String,
        p: &Parameter,
        prior: &Prior,
        effects: &mut Option<Conditional>,
    ) -> std::fmt::Result {
        let (name, Prior { m, s, h }) = (p.name, *prior);
        let at = self.coordinates(name);
        let signed = p.weak || at == " @ noncentred" && effects.is_none();
        match self.pooling {
            Pooling::Partial if signed && at != " @ centred" => {
                writeln!(out, "log_mu_{name} ~ Normal({:.15}, {s})", m.ln())?;
                writeln!(out, "_signed_{name} ~ Normal(0, {h})")?;
                writeln!(out, "_z_{name}[subject] ~ Normal(0, 1)")?;
                writeln!(out, "mu_{name} = exp(log_mu_{name})")?;
                writeln!(out, "sigma_{name} = abs(_signed_{name})")?;
                let mut mean = self.expected(out, p, h);
                let mut scale = format!("_signed_{name}");
                if let Some(effects) = effects {
                    [mean, scale] = effects.given(out, name, &mean, &scale);
                    effects.push_signed(name, format!("_z_{name}"));
                }
                writeln!(out, "log_{name}[subject] = {mean} + {scale} * _z_{name}")?;
            }
            Pooling::Partial => {
                writeln!(out, "log_mu_{name} ~ Normal({:.15}, {s})", m.ln())?;
                writeln!(out, "sigma_{name} ~ HalfNormal({h})")?;
                writeln!(out, "mu_{name} = exp(log_mu_{name})")?;
                self.normal(out, p, h, effects)?;
            }
            Pooling::None => {
                let wide = (s * s + h * h).sqrt();
                writeln!(
                    out,
                    "log_{name}[subject] ~ Normal({:.15}, {wide:.15})",
                    m.ln()
                )?;
            }
        }
        writeln!(out, "{name}[subject] = exp(log_{name})\n")
    }

    /// Φ⁻¹(p) ~ Normal(mu, sigma).
    fn probability(
        &self,
        out: &mut String,
        p: &Parameter,
        prior: &Prior,
        effects: &mut Option<Conditional>,
    ) -> std::fmt::Result {
        let (name, Prior { m, s, h }) = (p.name, *prior);
        match self.pooling {
            Pooling::Partial => {
                writeln!(out, "mu_{name}_probit ~ Normal({m}, {s})")?;
                writeln!(out, "sigma_{name}_probit ~ HalfNormal({h})")?;
                writeln!(out, "mu_{name} = exp(log_ndtr(mu_{name}_probit))")?;
                self.normal(out, p, h, effects)?;
            }
            Pooling::None => {
                let wide = (s * s + h * h).sqrt();
                writeln!(out, "probit_{name}[subject] ~ Normal({m}, {wide:.15})")?;
            }
        }
        writeln!(out, "{name}[subject] = exp(log_ndtr(probit_{name}))\n")
    }

    /// The scaled parameter of every subject, normal around what is expected of it.
    fn normal(
        &self,
        out: &mut String,
        p: &Parameter,
        h: f64,
        effects: &mut Option<Conditional>,
    ) -> std::fmt::Result {
        let (scaled, at) = (p.scaled_name(), self.coordinates(p.name));
        let (mut mean, mut spread) = (self.expected(out, p, h), p.spread_name());
        if let Some(effects) = effects {
            [mean, spread] = effects.given(out, p.name, &mean, &spread);
            effects.push(format!("_own_{}", p.name));
        }
        writeln!(out, "{scaled}[subject] ~ Normal({mean}, {spread}){at}")?;
        if effects.is_some() {
            let name = p.name;
            writeln!(out, "let _own_{name} = ({scaled} - {mean}) / ({spread})")?;
        }
        Ok(())
    }

    fn wald(&self) -> String {
        let single = self.kind == Kind::WaldSingle;
        let data = match single {
            true => "data rt[trials], right[trials], who[trials] in subject\n\n",
            false => "data outcome[trials], rt[trials], who[trials] in subject\n\n",
        };
        let mut out = format!("# Wald baseline: go responses alone\n{data}");
        let at = self.coordinates("B");
        out += &match self.pooling {
            Pooling::Partial => format!(
                "mu_B ~ LogNormal(0, 1)\nmu_t0 ~ Beta(3, 17)\nmu_v_true ~ Normal(2, 1)\n\
                 mu_v_false ~ Normal(1, 1)\nsigma_B ~ HalfNormal(0.5)\nsigma_t0 ~ HalfNormal(0.1)\n\
                 sigma_v_true ~ HalfNormal(0.5)\nsigma_v_false ~ HalfNormal(0.5)\n\n\
                 log_B[subject] ~ Normal(log(mu_B), sigma_B){at}\n\
                 t0[subject] ~ Normal(mu_t0, sigma_t0) truncated(0, 0.5)\n\
                 v_true[subject] ~ Normal(mu_v_true, sigma_v_true) truncated(0, inf)\n\
                 v_false[subject] ~ Normal(mu_v_false, sigma_v_false) truncated(0, inf)\n"
            ),
            Pooling::None => "log_B[subject] ~ Normal(0, 1.1)\n\
                 t0[subject] ~ Beta(3, 17) truncated(0, 0.5)\n\
                 v_true[subject] ~ Normal(2, 1.1) truncated(0, inf)\n\
                 v_false[subject] ~ Normal(1, 1.1) truncated(0, inf)\n"
                .into(),
        };
        out += "B[subject] = exp(log_B)\n\n";
        out += match single {
            true => {
                "let v = where(right, v_true[who], v_false[who])\n\
                 rt[trials] ~ Wald(mu=B[who] / v, lam=B[who]^2, alpha=t0[who])\n"
            }
            false => "outcome[trials] ~ WaldRace(rt, t0[who], B[who], v_true[who], v_false[who])\n",
        };
        out
    }

    /// The trials this model is about.
    fn takes(&self, row: &Row) -> bool {
        self.kind.stops() || !row.is_stop() && row.trial.response != 0
    }

    /// The arrays of the model.
    pub fn data(&self, study: &Study) -> Dataset {
        let rows: Vec<&Row> = study.rows.iter().filter(|r| self.takes(r)).collect();
        let n = [rows.len()];
        let mut data = Dataset::new();
        let of = |f: &dyn Fn(&Row) -> f64| -> Vec<f64> { rows.iter().map(|r| f(r)).collect() };
        let seconds = |x: f64| if x.is_nan() { 0.0 } else { x };
        data.insert_real("rt", &n, of(&|r| seconds(r.trial.rt)));
        match self.kind {
            Kind::WaldSingle => {
                data.insert_real("right", &n, of(&|r| f64::from(u8::from(r.outcome() == 1))));
            }
            _ => data.insert_real("outcome", &n, of(&|r| f64::from(self.outcome(r)))),
        }
        if self.kind.stops() {
            data.insert_real("ssd", &n, of(&|r| r.trial.ssd));
        }
        let names = rows
            .iter()
            .map(|r| study.subjects[r.subject].clone())
            .collect();
        data.insert(Array::text("who", &n, names, "memory"));
        // The model has subjects in the order of their names.
        let mut order: Vec<usize> = (0..study.subjects.len()).collect();
        order.sort_by(|a, b| study.subjects[*a].cmp(&study.subjects[*b]));
        if !study.covariates.is_empty() {
            let labels = order.iter().map(|&i| study.subjects[i].clone()).collect();
            data.insert(Array::text("subject", &[order.len()], labels, "memory"));
        }
        for c in &study.covariates {
            let values = order.iter().map(|&i| c.values[i]).collect();
            data.insert_real(&c.name, &[order.len()], values);
        }
        data
    }
}
