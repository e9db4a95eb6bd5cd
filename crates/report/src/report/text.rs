//! What reports say about their figures.

/// One sentence or two on how to read each figure of a run.
pub(super) struct Captions {
    pub(super) table: &'static str,
    pub(super) trace: &'static str,
    pub(super) posterior: &'static str,
    pub(super) truth: &'static str,
    pub(super) forest: &'static str,
    pub(super) rank: &'static str,
    pub(super) energy: &'static str,
    pub(super) pair: &'static str,
    pub(super) predictive: &'static str,
    pub(super) no_predictive: &'static str,
    pub(super) pit: &'static str,
    pub(super) khat: &'static str,
}

pub(super) const RUN_CAPTIONS: Captions = Captions {
    table: "Click a head to sort. Red: R-hat of 1.01 or more, ESS of 400 or less.",
    trace: "Left: the density of each chain; they should lie on each other. Right: the draws in their \
            order; they should look like noise around one level, without drifts and without places \
            where a chain sticks. Drag over draws to zoom, double-click to see all, click on the name \
            of a chain to hide it. Short strokes on the axes mark divergent trajectories.",
    posterior: "What the data leave possible for each number: density, mean, and the interval.",
    truth: "The dashed line is the value with which the data were made, with the share of draws on \
            either side.",
    forest: "Means and intervals, with R-hat and bulk ESS beside them. Variables of like size share an \
             axis.",
    rank: "Each chain's share of the low and high draws, against equal shares. A line that leaves the \
           band belongs to a chain that visits other values than the rest. The band is that of \
           independent draws: slowly mixing chains wander further.",
    energy: "If the change of energy is much narrower than the energy itself, the sampler creeps from \
             one energy to the next: heavy tails or a funnel. BFMI puts that in a number.",
    pair: "Divergent trajectories on top of the draws. Where they gather, draws are missing.",
    predictive: "Data sets that the model makes beside the one observed. Where the black line is unlike \
                 the blue ones, the model misses something. p is the share of replicates whose statistic \
                 is at least the observed one; near 0 or 1 is suspicious.",
    no_predictive: "None were drawn. Sample with ⟨predictive⟩ to see whether the model could have made \
                    the data, and with ⟨log_likelihood⟩ for leave-one-out checks.",
    pit: "Each observation's place in its prediction from all others. Inside the band: calibrated. A hump \
          in the middle: predictions too wide; a dip: too narrow; a slope: biased.",
    khat: "How far leave-one-out can be trusted, by observation. Above the limit the observation is so \
           influential that its estimate is unreliable: look at it, and at the model there.",
};

/// What to cite for what the page shows.
pub(super) const CITATIONS: [&str; 7] = [
    "NUTS: Hoffman, Gelman. The No-U-Turn Sampler. Journal of Machine Learning Research 15 (2014). \
     Betancourt. A conceptual introduction to Hamiltonian Monte Carlo. arXiv:1701.02434 (2017).",
    "R-hat, ESS, MCSE: Vehtari, Gelman, Simpson, Carpenter, Bürkner. Rank-normalization, folding, and \
     localization. Bayesian Analysis 16 (2021).",
    "Rank figures: Säilynoja, Bürkner, Vehtari. Graphical test for discrete uniformity. Statistics and \
     Computing 32 (2022).",
    "BFMI: Betancourt. Diagnosing suboptimal cotangent disintegrations. arXiv:1604.00695 (2016).",
    "Predictive checks: Gabry, Simpson, Vehtari, Betancourt, Gelman. Visualization in Bayesian \
     workflow. Journal of the Royal Statistical Society A 182 (2019).",
    "Leave-one-out: Vehtari, Simpson, Gelman, Yao, Gabry. Pareto smoothed importance sampling. Journal \
     of Machine Learning Research 25 (2024).",
    "Layout of traces: Kumar, Carroll, Hartikainen, Martin. ArviZ. Journal of Open Source Software 4 \
     (2019).",
];
