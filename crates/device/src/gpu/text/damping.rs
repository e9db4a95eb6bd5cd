//! Numbers that the damped steps of small fits have in common on the CPU and in `fit.c`: both take
//! them from here, or their bits would part.

use std::fmt::Write as _;

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: f64 = $value;)*
        const ALL: &[(&str, f64)] = &[$((stringify!($name), $name)),*];
    };
}

numbers! {
    /// How a fit ended; 0 goes on.
    SMALL_STEP = 1.0;
    /// The cost can hardly be reduced.
    SMALL_REDUCTION = 2.0;
    /// The cost is 0.
    EXACT_FIT = 3.0;
    /// A step so small that it is lost in rounding, near a minimum.
    ROUNDING = 4.0;
    /// The same elsewhere.
    NO_PROGRESS = 5.0;
    /// No damping helps.
    DAMPING_LIMIT = 6.0;
    /// As many evaluations as allowed.
    EVALUATION_LIMIT = 7.0;
    /// The start has no finite cost.
    NON_FINITE = 8.0;
    /// Damping of the first step.
    FIRST_DAMPING = 1e-3;
    /// Of a step that was accepted at least.
    LEAST_DAMPING = 1e-20;
    /// Of a step after a failure at least.
    LEAST_RAISED = 1e-14;
    /// Damping at which a fit is given up.
    MOST_DAMPING = 1e12;
    /// Its growth at the first failure; it doubles with every further one.
    FIRST_GROWTH = 2.0;
    /// And at most.
    MOST_GROWTH = 64.0;
    /// Part of the damping that is left after a good step, at least: a tenth in place of Nielsen's
    /// third.
    LEAST_FACTOR = 0.1;
    /// Part of the expected reduction that a step has to bring.
    ENOUGH = 1e-4;
    /// Expected reductions below this part of the cost are lost in rounding, ...
    LEVEL = 1e-14;
    /// ... and the cost may then rise by this factor.
    LEVEL_RISE = 1.0 + 1e-13;
    /// A change that parameters do not show.
    HIDDEN = 1e-14;
    /// An expected reduction, of the cost, at which such a change means a minimum.
    FLAT = 1e-12;
    /// Where each step is this part of the last one, steps shrink steadily.
    STEADY = 0.1;
    /// A change of the last step up to which the next one learns from it.
    STRAIGHT = 1e-2;
    /// The part of the last two steps that the next one takes back, at most.
    MOST_TURNED = 1.0;
    /// A change up to which a last step is taken without another evaluation: sums at its ends are
    /// equal to this, and the cost to its square.
    SHORT = 1e-6;
    /// Of the cost, what such a step may reduce.
    SLIGHT = 1e-8;
    /// A damping above which steps are shortened.
    DAMPED = 1e-3;
    /// Stands for a parameter that is 0 where changes are relative.
    TINY = 1e-300;
}

/// The same as C.
pub(super) fn defines() -> String {
    ALL.iter().fold(String::new(), |mut text, (name, value)| {
        // The shortest digits that read back as the same number.
        let _ = writeln!(text, "#define {name} {value:e}");
        text
    })
}
