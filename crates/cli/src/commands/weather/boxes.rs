//! The boxes of `fitzroy weather train --task precip`, as flags.

use clap::Args;
use fitzroy_weather::graph::Boxes;

/// The two boxes of `--task precip`.
#[derive(Args)]
pub(super) struct BoxArgs {
    #[arg(
        long,
        value_name = "DEG",
        default_value_t = 25.0,
        help_heading = "Boxes (precip)"
    )]
    downstream_lat_min: f64,
    #[arg(
        long,
        value_name = "DEG",
        default_value_t = 40.0,
        help_heading = "Boxes (precip)"
    )]
    downstream_lat_max: f64,
    #[arg(
        long,
        value_name = "DEG",
        default_value_t = 110.0,
        help_heading = "Boxes (precip)"
    )]
    downstream_lon_min: f64,
    #[arg(
        long,
        value_name = "DEG",
        default_value_t = 125.0,
        help_heading = "Boxes (precip)"
    )]
    downstream_lon_max: f64,
    #[arg(
        long,
        value_name = "DEG",
        default_value_t = 25.0,
        help_heading = "Boxes (precip)"
    )]
    upstream_lat_min: f64,
    #[arg(
        long,
        value_name = "DEG",
        default_value_t = 50.0,
        help_heading = "Boxes (precip)"
    )]
    upstream_lat_max: f64,
    #[arg(
        long,
        value_name = "DEG",
        default_value_t = 70.0,
        help_heading = "Boxes (precip)"
    )]
    upstream_lon_min: f64,
    #[arg(
        long,
        value_name = "DEG",
        default_value_t = 110.0,
        help_heading = "Boxes (precip)"
    )]
    upstream_lon_max: f64,
    /// Neighbours within the downstream box
    #[arg(
        long,
        value_name = "N",
        default_value_t = 8,
        help_heading = "Boxes (precip)"
    )]
    intra_k: usize,
    /// Upstream neighbours of a boundary node
    #[arg(
        long,
        value_name = "N",
        default_value_t = 32,
        help_heading = "Boxes (precip)"
    )]
    inter_k: usize,
    /// Nodes up to this longitude receive from upstream
    #[arg(
        long,
        value_name = "DEG",
        default_value_t = 111.0,
        help_heading = "Boxes (precip)"
    )]
    boundary_lon: f64,
    /// Rain above this counts more, mm
    #[arg(
        long,
        value_name = "MM",
        default_value_t = 10.0,
        help_heading = "Boxes (precip)"
    )]
    high_precip_threshold: f64,
    /// How much more it counts
    #[arg(
        long,
        value_name = "X",
        default_value_t = 3.0,
        help_heading = "Boxes (precip)"
    )]
    high_precip_weight: f64,
}

impl BoxArgs {
    /// The boxes and their neighbours.
    pub(super) fn boxes(&self) -> Boxes {
        Boxes {
            downstream: [
                self.downstream_lat_min,
                self.downstream_lat_max,
                self.downstream_lon_min,
                self.downstream_lon_max,
            ],
            upstream: [
                self.upstream_lat_min,
                self.upstream_lat_max,
                self.upstream_lon_min,
                self.upstream_lon_max,
            ],
            intra_k: self.intra_k,
            inter_k: self.inter_k,
            boundary_lon: self.boundary_lon,
        }
    }

    /// How much more heavy rain counts, and where it begins, mm.
    pub(super) fn heavy(&self) -> (f64, f64) {
        (self.high_precip_weight, self.high_precip_threshold)
    }
}
