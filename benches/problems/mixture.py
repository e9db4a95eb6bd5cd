"""Data of the grouped mixture benchmark: 20,000 response times of 100 subjects.

    python benches/problems/mixture.py FILE.csv     # writes columns subject, rt
    python benches/problems/mixture.py --checksum   # prints the checksum only

The generator is small so that any language can repeat it: uniforms from SplitMix64, normals by
Box and Muller (cosine branch), exponentials by -log(u), Wald times by Michael, Schucany and Haas
(1976). Times are rounded to whole multiples of 1e-5 s, which hides the last bits of the
elementary functions; the checksum is over these integers.
"""

import math
import sys

N_TRIALS, N_SUBJECTS, SEED = 20_000, 100, 20_613
MASK = (1 << 64) - 1
SHIFT = 0.05  # true shift of the Wald part, seconds
# Population mean and sd of the six subject parameters, in the order of the model file:
# logit of the weight, location, log sd and log mean delay of the ex-Gaussian (s),
# log threshold and log drift of the Wald.
TRUTH_MEAN = (1.0, 0.45, -3.0, -2.0, 0.3, 1.1)
TRUTH_SD = (0.4, 0.05, 0.2, 0.25, 0.15, 0.15)


class SplitMix64:
    """Steele, Lea and Flood (2014); doubles on (0, 1) from the top 53 bits, half a step up."""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53 + 2.0**-54

    def normal(self):
        radius = math.sqrt(-2.0 * math.log(self.uniform()))
        return radius * math.cos(2.0 * math.pi * self.uniform())


def wald(rng, threshold, drift):
    """First passage of a unit-variance Brownian motion with this drift over this threshold."""
    mean, shape = threshold / drift, threshold * threshold
    y = rng.normal() ** 2
    x = mean + mean * (mean * y - math.sqrt(mean * y * (4.0 * shape + mean * y))) / (2.0 * shape)
    return x if rng.uniform() <= mean / (mean + x) else mean * mean / x


def generate():
    """Subject of each trial (round robin) and its time in units of 1e-5 s."""
    rng = SplitMix64(SEED)
    people = []
    for _ in range(N_SUBJECTS):
        people.append([m + s * rng.normal() for m, s in zip(TRUTH_MEAN, TRUTH_SD, strict=True)])
    subject, ticks = [], []
    for trial in range(N_TRIALS):
        person = trial % N_SUBJECTS
        logit, mu, log_sigma, log_tau, log_threshold, log_drift = people[person]
        time = 0.0
        while not 0.12 < time < 10.0:  # the shift of the model is below 0.1 s
            if rng.uniform() < 1.0 / (1.0 + math.exp(-logit)):
                time = mu + math.exp(log_sigma) * rng.normal() - math.exp(log_tau) * math.log(rng.uniform())
            else:
                time = SHIFT + wald(rng, math.exp(log_threshold), math.exp(log_drift))
        subject.append(person)
        ticks.append(math.floor(time * 1e5 + 0.5))
    return subject, ticks


def checksum(ticks):
    """FNV-1a over the ticks as little-endian 64-bit integers."""
    h = 0xCBF29CE484222325
    for tick in ticks:
        for byte in tick.to_bytes(8, "little"):
            h = ((h ^ byte) * 0x100000001B3) & MASK
    return f"{h:016x}"


def rows():
    """Subject and time in seconds of every trial."""
    subject, ticks = generate()
    return subject, [t / 1e5 for t in ticks]


if __name__ == "__main__":
    subjects, times = generate()
    if sys.argv[1:] != ["--checksum"]:
        with open(sys.argv[1], "w") as out:
            out.write("subject,rt\n")
            out.writelines(f"{s},{t / 1e5!r}\n" for s, t in zip(subjects, times, strict=True))
    print(checksum(times))
