//! `a + b * z` with standard normal z, as `Normal(a, b)` written by hand.
//!
//! Any choice of c is exact where b is positive; a single form `a + b * z` in the density means
//! that it is worth while. z used in several forms, or a b of unknown sign, is left alone.

use super::super::build::Build;
use super::super::{Coordinates, Plate};
use super::form::Form;
use super::{Latent, Rewrites, Rewrote};
use crate::dist::Real;
use crate::model::ast::Centring;
use fitzroy_graph::Expr as Value;

impl<'g> Build<'_, 'g> {
    /// Adds a plate for every z that is used in one form, and puts its chosen coordinates in. Where
    /// `known` names the parameters that were recognised before, it is those and no others.
    pub(in super::super) fn recognise(
        &mut self,
        rewrites: Rewrites,
        known: Option<&[usize]>,
    ) -> Vec<Rewrote> {
        let mut done = Vec::new();
        if !rewrites.recognise {
            return done;
        }
        for latent in self.latents.clone() {
            let parameter = latent.parameter;
            let is_plate = self.plates.iter().any(|p| p.parameter == parameter);
            if is_plate || known.is_some_and(|known| !known.contains(&parameter)) {
                continue;
            }
            match self.form(&latent, known.is_some()) {
                Some(form) => done.push(self.recognised(&latent, &form)),
                None if known.is_some() => self.keep_place(&latent),
                None => {}
            }
        }
        done
    }

    /// A plate whose coordinates are z, whatever is chosen: its location is 0, its scale 1.
    fn keep_place(&mut self, latent: &Latent) {
        let dims = self.scope.with(|g| g.dims(latent.node).to_vec());
        let node = |x: f64| {
            let value = Value::lit(x).broadcast(self.scope, &dims);
            self.scope.node(value)
        };
        self.plate_nodes.push((node(0.0), node(1.0)));
        self.plate_signs.push(None);
        self.plates.push(Plate {
            parameter: latent.parameter,
            asked: Centring::Auto,
            standardised: true,
            scales: Vec::new(),
        });
    }

    /// Puts the product of a sign and the coordinate in the place of z, and b s z in that of b z.
    /// The prior of z is that of the coordinate.
    fn give_sign(
        &mut self,
        latent: &Latent,
        form: &Form,
        (a, b, z): (Value<'g>, Value<'g>, Value<'g>),
    ) {
        let scope = self.scope;
        let node = |v: Value<'g>| scope.node(v);
        let product = b * z;
        let replaced = form.replaced(latent, [z, product, a + product].map(node));
        let prior = &self.terms[latent.term];
        let (node, sum) = (prior.node, prior.sum);
        self.replace(&replaced);
        let prior = &mut self.terms[latent.term];
        (prior.node, prior.sum) = (node, sum);
    }

    /// Notes the plate of a recognised z, and puts its coordinates in.
    fn recognised(&mut self, latent: &Latent, form: &Form) -> Rewrote {
        let scope = self.scope;
        let which = self.plates.len();
        let dims = scope.with(|g| g.dims(latent.node).to_vec());
        let (w, b) = (scope.expr(latent.node), scope.expr(form.scale));
        let a = match form.sum {
            Some((_, location)) => scope.expr(location),
            None => Value::lit(0.0),
        };
        let name = self.parameters[latent.parameter].name.clone();
        let chosen = self.coordinates.get(which).cloned();
        let factors = self.factors_of(form.scale);
        self.plates.push(Plate {
            parameter: latent.parameter,
            asked: Centring::Auto,
            standardised: true,
            scales: factors.parameters,
        });
        let is_integrated = self.integrated.get(latent.parameter) == Some(&true);
        let standardised = matches!(chosen, None | Some(Coordinates::NonCentred));
        let sign = factors.sign.filter(|_| standardised && !is_integrated);
        let sign = sign.map(|sign| sign.broadcast(scope, &dims));
        self.plate_signs.push(sign.map(|sign| scope.node(sign)));
        let node = |v: Value<'g>| scope.node(v.broadcast(scope, &dims));
        self.plate_nodes.push((node(a), node(b)));
        if let Some(sign) = sign {
            self.give_sign(latent, form, (a, b, sign * w));
        }
        let (z, log_power) = match chosen {
            None | Some(Coordinates::NonCentred) => (w, None),
            Some(Coordinates::Centred) => ((w - a) / b, Some(b.ln())),
            Some(Coordinates::Partial(c)) => {
                let c = scope.bound_data(&format!("centring of {name}"), &dims, &c);
                let log_power = c * b.ln();
                ((w - c * a) * (-log_power).exp(), Some(log_power))
            }
        };
        let what = format!("{name} recognised as the standardised form of a normal variable");
        if let Some(log_power) = log_power {
            let centred = self.coordinates.get(which) == Some(&Coordinates::Centred);
            let product = if centred { w - a } else { b * z };
            let sum = if centred { w } else { a + product };
            self.replace(&form.replaced(latent, [z, product, sum].map(node)));
            let density = Value::lit(-0.5) * z * z
                - Value::lit(0.5 * libm::log(2.0 * std::f64::consts::PI))
                - log_power;
            let density = scope.expr(node(density));
            let term = &mut self.terms[latent.term];
            term.node = scope.node(density);
            term.sum = scope.node(density.sum_all());
            // Its coordinate is no standard normal number any more.
            let own = |l: &Latent| l.parameter != latent.parameter;
            self.latents.retain(own);
        }
        Rewrote {
            kind: "recognise",
            parameters: vec![name],
            what,
        }
    }
}
