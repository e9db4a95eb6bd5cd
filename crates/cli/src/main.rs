//! The terminal face of Fitzroy.

fn main() {}
