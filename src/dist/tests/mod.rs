//! Tests of the distributions: golden values, contracts, random draws.

mod draws;
mod golden;
mod graphs;
mod limits;
mod structured;
mod tails;
mod transforms;
