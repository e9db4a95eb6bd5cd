//! Variables that are drawn anew: replicates of data and predictions.

use super::build::Build;
use super::law::{Law, Of};
use super::{Draw, Drawn};
use crate::Result;
use crate::model::ast::Sampled;
use fitzroy_graph::{DimId, Expr as Value};

/// A variable to be drawn anew: how, and from which arguments. An argument has the dims of the
/// variable that its draws differ over, in order, then those of one draw.
pub(super) struct Drawing<'a, 'g> {
    pub(super) draw: Draw,
    pub(super) arguments: Vec<Value<'g>>,
    /// Dims over which draws are repeated, and those of one draw.
    pub(super) outer: &'a [DimId],
    pub(super) event: &'a [DimId],
    pub(super) observed: bool,
}

impl<'g> Build<'_, 'g> {
    /// `predict NAME[dims] ~ Dist(...)`
    pub(super) fn drawn_later(&mut self, s: &Sampled) -> Result<()> {
        let dims = self.declared_dims(&s.subscripts)?;
        let of = Of {
            name: &s.name,
            dims: &dims,
        };
        match self.law(&s.distribution, of)? {
            Some(law) => {
                let limits = self.limit_values(s, &dims)?;
                self.draw_numbers(s, &law, limits, &dims, false);
                Ok(())
            }
            None => super::vector::prediction(self, s, &dims),
        }
    }

    pub(super) fn draw_numbers(
        &mut self,
        s: &Sampled,
        law: &Law<'g>,
        limits: Option<(Value<'g>, Value<'g>)>,
        dims: &[DimId],
        observed: bool,
    ) {
        let drawing = Drawing {
            observed,
            ..drawing_of(law, limits, dims)
        };
        self.draw(s, drawing);
    }

    /// Notes that a variable is drawn anew.
    pub(super) fn draw(&mut self, s: &Sampled, drawing: Drawing<'_, 'g>) {
        let mut drawn = self.drawn_as(&s.name.text, &drawing);
        if !drawing.observed {
            let dims: Vec<DimId> = drawing.outer.iter().chain(drawing.event).copied().collect();
            let offset = self.n_params + self.n_drawn;
            self.n_drawn += self.scope.with(|g| g.len_of(&dims));
            self.later.insert(drawn.name.clone(), (dims, offset));
            drawn.feeds = Some(offset);
        }
        self.drawn.push(drawn);
    }

    /// The variable `name` drawn in that way, which nothing reads yet.
    pub(super) fn drawn_as(&self, name: &str, drawing: &Drawing<'_, 'g>) -> Drawn {
        let dims: Vec<DimId> = drawing.outer.iter().chain(drawing.event).copied().collect();
        let (dim_names, shape) = self.dim_names(name, &dims);
        let (mut nodes, mut widths) = (Vec::new(), Vec::new());
        for &argument in &drawing.arguments {
            let own = argument.dims();
            let event = own.iter().filter(|d| !drawing.outer.contains(d)).copied();
            let event: Vec<DimId> = event.collect();
            widths.push(self.scope.with(|g| g.len_of(&event)));
            let shared = event.len() == own.len();
            let full: Vec<DimId> = match shared {
                true => event,
                false => drawing.outer.iter().copied().chain(event).collect(),
            };
            nodes.push(self.scope.node(argument.broadcast(self.scope, &full)));
        }
        Drawn {
            name: name.into(),
            dims: dim_names,
            shape,
            observed: drawing.observed,
            event_dims: drawing.event.len(),
            law: drawing.draw.clone(),
            arguments: nodes,
            widths,
            feeds: None,
            part: None,
        }
    }
}

/// How numbers over `dims` are drawn: not those of data.
pub(super) fn drawing_of<'a, 'g>(
    law: &Law<'g>,
    limits: Option<(Value<'g>, Value<'g>)>,
    dims: &'a [DimId],
) -> Drawing<'a, 'g> {
    let (mut draw, mut arguments) = law.drawing();
    if let Some((lower, upper)) = limits {
        draw = Draw::Truncated(Box::new(draw));
        arguments.splice(0..0, [lower, upper]);
    }
    Drawing {
        draw,
        arguments,
        outer: dims,
        event: &[],
        observed: false,
    }
}
