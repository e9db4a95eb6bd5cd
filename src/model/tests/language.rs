//! The meaning of what is written.

use super::super::ast::{BinaryOp, Expr, ExprKind, Subscript, UnaryOp};
use super::super::{Level, Model, Role};
use super::{EVERYTHING, HIERARCHICAL, model};
use crate::rng::{Purpose, Rng};

fn expr(text: &str) -> Expr {
    Expr::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

/// Catches: wrong precedence or associativity. The right column is the left one in full brackets,
/// as Python's `ast` groups it (comparisons and `^` for `**` apart).
#[test]
fn operators_bind_as_in_python() {
    let table = [
        ("a + b * c", "a + (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("a / b * c", "(a / b) * c"),
        ("-a ^ b", "-(a ^ b)"),
        ("a ^ -b", "a ^ (-b)"),
        ("a ** b ** c", "a ^ (b ^ c)"),
        ("-a * b", "(-a) * b"),
        ("a @ b * c", "(a @ b) * c"),
        ("a + b < c - d", "(a + b) < (c - d)"),
        ("a < b and c or d", "((a < b) and c) or d"),
        ("not a < b", "not (a < b)"),
        ("not a and b", "(not a) and b"),
        ("a ^ -b * c", "(a ^ (-b)) * c"),
        ("2 ^ x[i] ^ 3", "2 ^ ((x[i]) ^ 3)"),
        ("-+a", "-a"),
    ];
    for (plain, bracketed) in table {
        assert_eq!(expr(plain), expr(bracketed), "{plain}");
    }
    assert_ne!(expr("a - (b - c)"), expr("a - b - c"));
}

#[test]
fn numbers_read_as_python_reads_them() {
    let table = [
        ("1e-3", 1e-3),
        ("1_000", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("2.5E+2", 250.0),
        ("0", 0.0),
    ];
    for (text, value) in table {
        assert_eq!(expr(text).kind, ExprKind::Number(value), "{text}");
    }
}

#[test]
fn a_model_prints_as_text_that_reads_back_equal() {
    for text in [HIERARCHICAL, EVERYTHING] {
        let first = model(text);
        let printed = first.to_string();
        let second = model(&printed);
        assert_eq!(first, second);
        assert_eq!(printed, second.to_string());
    }
    assert_eq!(
        model(HIERARCHICAL).to_string(),
        "data y[obs]\ndata group[obs] in groups\nmu_pop ~ Normal(50, 20)\n\
         sigma_pop ~ HalfNormal(15)\nmu_group[groups] ~ Normal(mu_pop, sigma_pop)\n\
         sigma_obs ~ HalfNormal(5)\ny[obs] ~ Normal(mu_group[group], sigma_obs)\n"
    );
}

/// A tree of random shape, `depth` deep at most.
fn random_tree(rng: &mut Rng, depth: usize) -> Expr {
    use BinaryOp as B;
    let ops = [
        B::Or,
        B::And,
        B::Equal,
        B::Less,
        B::GreaterEqual,
        B::Add,
        B::Sub,
        B::Mul,
        B::Div,
        B::MatMul,
        B::Pow,
    ];
    let mut pick = |n: usize| (rng.uniform() * n as f64).ceil() as usize - 1;
    let of = |kind| Expr {
        kind,
        span: Default::default(),
    };
    match if depth == 0 { pick(2) } else { pick(8) } {
        0 => Expr::name(["a", "b", "pi", "of a.b|c", "data", "1st"][pick(6)]),
        1 => Expr::number([0.0, 3.0, 0.1, 1e-300, 1.5e22, 1e15][pick(6)]),
        2 => -random_tree(rng, depth - 1),
        3 => of(ExprKind::Unary(
            UnaryOp::Not,
            Box::new(random_tree(rng, depth - 1)),
        )),
        4 => {
            let mut slice = |present| (present > 0).then(|| random_tree(rng, 0));
            let (start, stop) = (slice(depth % 2), slice(depth % 3));
            let slice = Subscript::Slice {
                start,
                stop,
                span: Default::default(),
            };
            let base = random_tree(rng, depth - 1);
            let at = Subscript::At(random_tree(rng, depth - 1));
            of(ExprKind::Index(Box::new(base), vec![at, slice]))
        }
        5 => Expr::call(
            "f",
            [random_tree(rng, depth - 1), random_tree(rng, depth - 1)],
        ),
        _ => {
            let op = ops[pick(ops.len())];
            random_tree(rng, depth - 1).binary(op, random_tree(rng, depth - 1))
        }
    }
}

/// 2000 trees. Catches: a missing pair of brackets in printing, a wrong precedence in reading.
#[test]
fn expressions_print_as_text_that_reads_back_equal() {
    let mut rng = Rng::new(1, 0, 0, 0, Purpose::Test);
    for _ in 0..2000 {
        let tree = random_tree(&mut rng, 5);
        let text = tree.to_string();
        assert_eq!(expr(&text), tree, "{text}");
    }
}

#[test]
fn text_and_builder_give_equal_models() {
    let built = Model::builder()
        .data("y", &["obs"])
        .data_in("group", &["obs"], "groups")
        .parameter("mu_pop", &[], "Normal(50, 20)")
        .parameter(
            "sigma_pop",
            &[],
            Expr::call("HalfNormal", [Expr::number(15.0)]),
        )
        .parameter("mu_group", &["groups"], "Normal(mu_pop, sigma_pop)")
        .parameter("sigma_obs", &[], "HalfNormal(5)")
        .observed(
            "y",
            &["obs"],
            Expr::call(
                "Normal",
                [
                    Expr::name("mu_group").at(Expr::name("group")),
                    Expr::name("sigma_obs"),
                ],
            ),
        )
        .build();
    assert_eq!(built.expect("the model is valid"), model(HIERARCHICAL));
    let other = HIERARCHICAL.replace("15", "16");
    assert_ne!(model(&other), model(HIERARCHICAL));
}

#[test]
fn the_builder_makes_every_statement() {
    use super::super::ast::Centring;
    use crate::data::Labels;
    let built = Model::builder()
        .dim("k", 3.0)
        .dim_labels("colour", Labels::Text(vec!["red".into(), "blue".into()]))
        .data_in_from("c", &["obs"], "colour", 1)
        .data("y", &["obs"])
        .parameter("a", &["colour"], "Normal(0, s)")
        .centring(Centring::NonCentred)
        .parameter("s", &[], "Normal(0, 1)")
        .truncated(0.0, "inf")
        .parameter("b", &["k"], "Normal(0, 1)")
        .bounded("-s", 4.0)
        .local("z", &[], "a[c]")
        .deterministic("m", &["obs"], "z + sum(b)")
        .observed("y", &["1:"], "Normal(m[1:], s)")
        .target("-s")
        .predicted("later", &["obs"], "Normal(m, s)")
        .predicted_value("most", &[], "max(later)")
        .build()
        .expect("the model is valid");
    let text = "dim k = 3\ndim colour = [\"red\", \"blue\"]\ndata c[obs] in colour from 1\n\
                data y[obs]\na[colour] ~ Normal(0, s) @ noncentred\n\
                s ~ Normal(0, 1) truncated(0, inf)\nb[k] ~ Normal(0, 1) bounded(-s, 4)\n\
                let z = a[c]\nm[obs] = z + sum(b)\ny[1:] ~ Normal(m[1:], s)\ntarget += -s\n\
                predict later[obs] ~ Normal(m, s)\npredict most = max(later)\n";
    assert_eq!(built, model(text));
    assert_eq!(built.to_string(), text);
}

#[test]
fn statements_may_stand_in_any_order() {
    let m = model(
        "predict p ~ Normal(c, 1)\ny ~ Normal(c, 1)\nc = b + a\nb = 2 * a\na ~ Normal(0, 1)\ndata y",
    );
    let names: Vec<String> = m
        .order()
        .iter()
        .map(|&i| {
            m.statements()[i]
                .name()
                .expect("all have names")
                .text
                .clone()
        })
        .collect();
    assert_eq!(names, ["y", "a", "b", "c", "y", "p"]);
}

#[test]
fn names_have_roles_and_levels() {
    let m = model(EVERYTHING);
    let of = |name: &str| (m.symbols()[name].role, m.symbols()[name].level);
    assert_eq!(of("x"), (Role::Data, Level::Data));
    assert_eq!(of("alpha"), (Role::Parameter, Level::Parameters));
    assert_eq!(of("eta"), (Role::Local, Level::Parameters));
    assert_eq!(of("rate"), (Role::Deterministic, Level::Parameters));
    assert_eq!(of("total"), (Role::Predicted, Level::Predicted));
    let known = model("data y[obs]\nlet z = log(y)\nz ~ Normal(0, 1)");
    assert_eq!(known.symbols()["z"].level, Level::Data);
    assert_eq!(
        m.warnings(),
        ["line 3: data `season` is declared and not used"]
    );
}

/// Exact. Catches: a quoted name that is taken for a word, a constant or a plain name.
#[test]
fn names_between_backquotes_are_any_names() {
    let text = "data `y 1`[`the rows`], x[`the rows`]\n`e` ~ Normal(0, 1)\n`1|g` = 2 * `e` + e + pi\n\
                `data` ~ HalfNormal(1)\n`y 1`[`the rows`] ~ Normal(`1|g` * x[`the rows`], `data`)";
    let m = model(text);
    let role = |name: &str| m.symbols()[name].role;
    assert_eq!(role("y 1"), Role::Data);
    assert_eq!([role("e"), role("data")], [Role::Parameter; 2]);
    assert_eq!(role("1|g"), Role::Deterministic);
    assert_eq!(model(&m.to_string()), m, "{m}");
    for (text, want) in [
        ("`e ~ Normal(0, 1)", "not closed"),
        ("`` ~ Normal(0, 1)", "begins with a letter"),
        ("`a[0]` ~ Normal(0, 1)", "no quotes, brackets"),
        ("`a/b` ~ Normal(0, 1)", "slashes"),
        ("`.a` ~ Normal(0, 1)", "begins with a letter"),
        ("`a ` ~ Normal(0, 1)", "ends with no space"),
        ("`inf` ~ Normal(0, 1)", "is the constant inf"),
        ("`chain` ~ Normal(0, 1)", "what a trace calls"),
        ("e ~ Normal(0, 1)", "is the constant 2.718"),
        ("x = `sin`(2)", "expected"),
        ("x = `no such` + 1", "`no such` is not defined"),
    ] {
        let message = Model::parse(text).unwrap_err().to_string();
        assert!(message.contains(want), "{text}: {message}");
    }
}

/// Catches: a parser, checker or printer that a hostile text can crash or exhaust.
#[test]
fn no_text_makes_the_parser_panic() {
    let mut rng = Rng::new(7, 0, 0, 0, Purpose::Test);
    let letters: Vec<char> = EVERYTHING.chars().collect();
    for _ in 0..3000 {
        let mut text = letters.clone();
        for _ in 0..1 + (rng.uniform() * 4.0) as usize {
            let at = (rng.uniform() * (text.len() - 1) as f64) as usize;
            let from = (rng.uniform() * (letters.len() - 1) as f64) as usize;
            match (rng.uniform() * 3.0) as usize {
                0 => drop(text.remove(at)),
                1 => text[at] = letters[from],
                _ => text.truncate(at.max(1)),
            }
        }
        let text: String = text.into_iter().collect();
        if let Ok(m) = Model::parse(&text) {
            assert_eq!(model(&m.to_string()), m, "{text}");
        }
    }
    for hostile in [
        "(", "[", "-", "not ", "f(", "2^", "x[", "+", "1+", "x < ", "\u{0}", "é",
    ] {
        let text = format!("a ~ Normal({}1, 1)", hostile.repeat(100_000));
        assert!(Model::parse(&text).is_err());
    }
    let chain: String = (0..5000).map(|i| format!("x{} = x{i}\n", i + 1)).collect();
    assert!(Model::parse(&format!("x0 ~ Normal(0, 1)\n{chain}")).is_ok());
}
