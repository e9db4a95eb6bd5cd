//! Expressions made by hand: names, numbers, calls and operators as Rust has them.

use super::ast::{Argument, BinaryOp, Call, Expr, ExprKind, Span, Subscript, UnaryOp};
use std::ops::{Add, Div, Mul, Neg, Sub};

impl Expr {
    fn of(kind: ExprKind) -> Expr {
        Expr {
            kind,
            span: Span::default(),
        }
    }

    /// The variable, dim or constant called `name`.
    pub fn name(name: &str) -> Expr {
        Expr::of(ExprKind::Name(name.into()))
    }

    /// A number; a negative one becomes a minus and a number, infinity the name `inf`.
    pub fn number(value: f64) -> Expr {
        if value.is_sign_negative() {
            return -Expr::number(-value);
        }
        if value.is_infinite() {
            return Expr::name("inf");
        }
        Expr::of(ExprKind::Number(value))
    }

    /// `name(arguments)`, all by position.
    pub fn call(name: &str, arguments: impl IntoIterator<Item = Expr>) -> Expr {
        let arguments = arguments
            .into_iter()
            .map(|value| Argument { name: None, value })
            .collect();
        Expr::of(ExprKind::Call(Call {
            name: name.into(),
            arguments,
            span: Span::default(),
        }))
    }

    /// `self[position]`
    #[must_use]
    pub fn at(self, position: Expr) -> Expr {
        Expr::of(ExprKind::Index(
            Box::new(self),
            vec![Subscript::At(position)],
        ))
    }

    /// `self op other`
    #[must_use]
    pub fn binary(self, op: BinaryOp, other: Expr) -> Expr {
        Expr::of(ExprKind::Binary(op, Box::new(self), Box::new(other)))
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident) => {
        impl $trait for Expr {
            type Output = Expr;
            fn $method(self, other: Expr) -> Expr {
                self.binary(BinaryOp::$trait, other)
            }
        }
    };
}

operator!(Add, add);
operator!(Sub, sub);
operator!(Mul, mul);
operator!(Div, div);

impl Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        Expr::of(ExprKind::Unary(UnaryOp::Neg, Box::new(self)))
    }
}
