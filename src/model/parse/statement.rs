//! Statements.

use super::super::ast::{
    Centring, Computed, Data, Dim, Expr, ExprKind, Extent, Formula, Keep, LimitKind, Limits, Name,
    Sampled, Statement, Subscript, UnaryOp,
};
use super::super::names::did_you_mean;
use super::super::source::error_at;
use super::super::token::Kind;
use super::Parser;
use crate::Result;
use crate::data::Labels;

impl Parser<'_> {
    pub(super) fn statement(&mut self, out: &mut Vec<Statement>) -> Result<()> {
        let word = match self.kind().clone() {
            Kind::Name(word) => word,
            // No word of the language.
            Kind::Quoted(_) => String::new(),
            _ => return Err(self.expected("a statement (`data ...`, `NAME ~ ...`, `NAME = ...`)")),
        };
        match word.as_str() {
            "data" => {
                self.step();
                self.data(out)?;
            }
            "dim" => {
                self.step();
                out.push(Statement::Dim(self.dim()?));
            }
            "let" => {
                self.step();
                if matches!(self.kind_after(), Kind::Sign("(")) {
                    let formula = self.formula()?;
                    self.formulas.push(formula);
                } else {
                    out.push(self.definition(Some(Keep::Local))?);
                }
            }
            "predict" => {
                self.step();
                out.push(self.definition(Some(Keep::Predicted))?);
            }
            "target" => {
                self.step();
                self.need("+=", "`+=` after `target`")?;
                self.skip_newlines();
                out.push(Statement::Target(self.expr()?));
            }
            _ => out.push(self.definition(None)?),
        }
        match self.kind() {
            Kind::Newline | Kind::End => Ok(()),
            _ => Err(self.expected("an operator or the end of the line")),
        }
    }

    /// One or several declarations after `data`.
    fn data(&mut self, out: &mut Vec<Statement>) -> Result<()> {
        loop {
            out.push(Statement::Data(self.datum()?));
            if !self.take_sign(",") {
                return Ok(());
            }
            self.skip_newlines();
        }
    }

    fn datum(&mut self) -> Result<Data> {
        let name = self.name("the name of a data array")?;
        let dims = self.optional_dims("a data array")?;
        let (mut indexes, mut from) = (None, None);
        if self.take_word("in") {
            indexes = Some(self.name("the dim that the column indexes")?);
            if self.take_word("from") {
                from = Some(self.base()?);
            }
        }
        let whole = self.take_sign(":");
        if whole && !self.take_word("int") {
            return Err(self.expected("`int` after `:`"));
        }
        let ends = matches!(self.kind(), Kind::Newline | Kind::End) || self.is_sign(",");
        if !ends {
            let what = match (&indexes, dims.is_empty()) {
                (None, true) => "`[`, `in`, `: int`, `,` or the end of the line",
                (None, false) => "`in`, `: int`, `,` or the end of the line",
                (Some(_), _) => "`from`, `: int`, `,` or the end of the line",
            };
            return Err(self.expected(what));
        }
        Ok(Data {
            name,
            dims,
            indexes,
            from,
            whole,
        })
    }

    /// The whole number after `from`.
    fn base(&mut self) -> Result<i64> {
        match *self.kind() {
            Kind::Number(v) if v.fract() == 0.0 && v < 1e15 => {
                self.step();
                Ok(v as i64)
            }
            _ => Err(self.expected("a whole number after `from`")),
        }
    }

    fn dim(&mut self) -> Result<Dim> {
        let name = self.name("the name of a dim")?;
        self.need("=", "`=` and a size or labels")?;
        self.skip_newlines();
        let extent = if self.is_sign("[") {
            Extent::Labels(self.labels()?)
        } else {
            Extent::Size(self.expr()?)
        };
        Ok(Dim { name, extent })
    }

    /// `["a", "b"]` or `[2019, 2020]`
    fn labels(&mut self) -> Result<Labels> {
        let open = self.span();
        self.step();
        let items = self.separated("]", open, |p| {
            let negative = p.take_sign("-");
            let kind = p.kind().clone();
            match kind {
                Kind::Text(_) if !negative => {}
                Kind::Number(v) if v.fract() == 0.0 && v < 1e15 => {}
                _ => return Err(p.expected("a label: a text in quotes or a whole number")),
            }
            p.step();
            Ok((kind, negative))
        })?;
        let span = open.to(self.previous());
        if items.is_empty() {
            return Err(error_at(self.text, span, "this dim has no labels"));
        }
        let mut texts = Vec::new();
        let mut integers = Vec::new();
        for (kind, negative) in items {
            match kind {
                Kind::Text(t) => texts.push(t),
                Kind::Number(v) => integers.push(if negative { -(v as i64) } else { v as i64 }),
                _ => {}
            }
        }
        match (texts.is_empty(), integers.is_empty()) {
            (false, true) => Ok(Labels::Text(texts)),
            (true, _) => Ok(Labels::Integers(integers)),
            _ => Err(error_at(
                self.text,
                span,
                "labels must be all texts or all whole numbers",
            )),
        }
    }

    /// `NAME(arguments) = expression`, after `let`.
    pub(super) fn formula(&mut self) -> Result<Formula> {
        let name = self.name("a name")?;
        let open = self.span();
        self.step();
        let parameters = self.separated(")", open, |p| p.name("the name of an argument"))?;
        if parameters.is_empty() {
            let message = format!("a function has arguments; without any it is `let {name} = ...`");
            return Err(error_at(self.text, open.to(self.previous()), message));
        }
        self.need("=", "`=` and the formula of the function")?;
        self.skip_newlines();
        let value = self.expr()?;
        Ok(Formula {
            name,
            parameters,
            value,
        })
    }

    /// `NAME[..] ~ ...` or `NAME[..] = ...`, after `let`, `predict` or nothing.
    fn definition(&mut self, keep: Option<Keep>) -> Result<Statement> {
        let name = self.name("a name")?;
        let subscripts = if self.is_sign("[") {
            self.subscripts()?
        } else {
            Vec::new()
        };
        if self.take_sign("=") {
            self.skip_newlines();
            let dims = self.plain_dims(subscripts, "a computed quantity")?;
            let value = self.expr()?;
            let keep = keep.unwrap_or(Keep::Recorded);
            return Ok(Statement::Computed(Computed {
                name,
                dims,
                value,
                keep,
            }));
        }
        if self.is_sign("~") && keep == Some(Keep::Local) {
            return Err(self.error("expected `=` after `let`, found `~`"));
        }
        if !self.take_sign("~") {
            return Err(self.no_relation(&name));
        }
        self.skip_newlines();
        self.sampled(name, subscripts, keep == Some(Keep::Predicted))
    }

    /// Neither `~` nor `=` follows a name.
    fn no_relation(&self, name: &Name) -> crate::Error {
        let after = matches!(self.kind_after(), Kind::Sign("-" | "="));
        let hint = match self.kind() {
            Kind::Sign("<") if after => "; a computed quantity is written with `=`".into(),
            Kind::Sign(":") if after => "; a computed quantity is written with `=`".into(),
            Kind::Sign("(") => format!("; a function is defined by `let {name}(...) = ...`"),
            Kind::Name(_) => did_you_mean(&name.text, ["data", "dim", "let", "predict"]),
            Kind::Sign("+=") => "; only `target` is added to".into(),
            _ => String::new(),
        };
        let what = format!("`~` or `=` after `{}`", name.text);
        self.error(format!("expected {what}, found {}{hint}", self.found()))
    }

    fn sampled(
        &mut self,
        name: Name,
        subscripts: Vec<Subscript>,
        predicted: bool,
    ) -> Result<Statement> {
        let distribution = self.call("a distribution")?;
        let mut limits = None;
        for (word, kind) in [
            ("truncated", LimitKind::Truncated),
            ("bounded", LimitKind::Bounded),
        ] {
            if self.is_word(word) {
                limits = Some(self.limits(kind)?);
            }
        }
        let ordered = self.take_word("ordered");
        let mut centring = Centring::Auto;
        if self.take_sign("@") {
            centring = match self.kind() {
                Kind::Name(n) if n == "centred" => Centring::Centred,
                Kind::Name(n) if n == "noncentred" => Centring::NonCentred,
                Kind::Name(n) if n == "auto" => Centring::Auto,
                _ => return Err(self.expected("`centred`, `noncentred` or `auto` after `@`")),
            };
            self.step();
        }
        if !matches!(self.kind(), Kind::Newline | Kind::End) {
            let what =
                "`truncated(...)`, `bounded(...)`, `ordered`, `@ ...` or the end of the line";
            return Err(self.expected(what));
        }
        let sampled = Sampled {
            name,
            subscripts,
            distribution,
            limits,
            ordered,
            centring,
            predicted,
        };
        Ok(Statement::Sampled(sampled))
    }

    /// `truncated(lower, upper)`; either may be given by name and the other left out.
    fn limits(&mut self, kind: LimitKind) -> Result<Limits> {
        let call = self.call("limits")?;
        let infinite = || Expr {
            kind: ExprKind::Name("inf".into()),
            span: call.span,
        };
        let (mut lower, mut upper) = (None, None);
        let usage = format!("`{0}(lower, upper)` or `{0}(lower=...)`", call.name.text);
        for (position, argument) in call.arguments.iter().enumerate() {
            let slot = match argument.name.as_ref().map(|n| n.text.as_str()) {
                None if position == 0 && call.arguments.len() > 1 => &mut lower,
                None if position == 1 => &mut upper,
                Some("lower" | "lo") => &mut lower,
                Some("upper" | "hi") => &mut upper,
                _ => {
                    let message = format!("expected {usage}");
                    return Err(error_at(self.text, argument.value.span, message));
                }
            };
            if slot.replace(argument.value.clone()).is_some() {
                return Err(error_at(
                    self.text,
                    argument.value.span,
                    format!("expected {usage}"),
                ));
            }
        }
        if lower.is_none() && upper.is_none() {
            return Err(error_at(self.text, call.span, format!("expected {usage}")));
        }
        let lower = lower.unwrap_or_else(|| Expr {
            kind: ExprKind::Unary(UnaryOp::Neg, Box::new(infinite())),
            span: call.span,
        });
        let upper = upper.unwrap_or_else(infinite);
        Ok(Limits { kind, lower, upper })
    }

    fn optional_dims(&mut self, of: &str) -> Result<Vec<Name>> {
        if !self.is_sign("[") {
            return Ok(Vec::new());
        }
        let subscripts = self.subscripts()?;
        self.plain_dims(subscripts, of)
    }

    /// Subscripts that must all be names of dims.
    fn plain_dims(&self, subscripts: Vec<Subscript>, of: &str) -> Result<Vec<Name>> {
        let check = |subscript: Subscript| match subscript {
            Subscript::At(Expr {
                kind: ExprKind::Name(text),
                span,
            }) => Ok(Name { text, span }),
            other => {
                let message = format!("expected the name of a dim; {of} is declared whole");
                Err(error_at(self.text, other.span(), message))
            }
        };
        subscripts.into_iter().map(check).collect()
    }
}
