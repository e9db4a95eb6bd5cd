/* One small fit to a thread: the damped steps that the CPU makes for eight fits at a time, in the
   same order of operations, with the numbers of damping.rs. */

FUNCTION int pair_at(int a, int b)
{
    return a * Q + b - a * (a + 1) / 2;
}

FUNCTION int lower_at(int i, int j)
{
    return i * (i + 1) / 2 + j;
}

#define NOT_A_NUMBER (0.0 / 0.0)

FUNCTION bool is_number(double x)
{
    return x - x == 0.0;
}

FUNCTION double greater(double a, double b)
{
    return a > b ? a : b;
}

/* What a step is made from beside sums: running maxima of A_aa, the last step as it was solved for
   and as it was taken, and its change if it was accepted, else 0. */
struct Past {
    double scale[P], solved[P], taken[P], last;
};

/* The next trial point from the best one; the change of the parameters. Solves by L diag(w) L',
   with 1/w on the diagonal of l; takes back a part of the last two steps where they differ. */
FUNCTION double next_trial(const double *here, const double *theta, double lambda,
                           struct Past *past, double *trial, double *predicted)
{
    double l[P * (P + 1) / 2], lw[P], step[P];
    double *const scale = past->scale;
    for (int i = 0; i < P; ++i) {
        for (int j = 0; j < i; ++j) {
            double s = here[pair_at(j, i)];
            for (int k = 0; k < j; ++k)
                s = fma(-lw[k], l[lower_at(j, k)], s);
            lw[j] = s;
            l[lower_at(i, j)] = s * l[lower_at(j, j)];
        }
        const double d = greater(here[pair_at(i, i)], scale[i]);
        scale[i] = 0.0 < d ? d : 1.0;
        double s = fma(lambda, scale[i], here[pair_at(i, i)]);
        for (int k = 0; k < i; ++k)
            s = fma(-lw[k], l[lower_at(i, k)], s);
        l[lower_at(i, i)] = 1.0 / (0.0 < s ? s : NOT_A_NUMBER);
        double g = -here[pair_at(i, P)];
        for (int k = 0; k < i; ++k)
            g = fma(-step[k], l[lower_at(i, k)], g);
        step[i] = g;
    }
    for (int i = 0; i < P; ++i)
        step[i] = step[i] * l[lower_at(i, i)];
    double damped = 0.0, slope = 0.0, change = 0.0, turned = 0.0, turn = 0.0;
    for (int i = P - 1; i >= 0; --i) {
        const double s = step[i];
        for (int k = 0; k < i; ++k)
            step[k] = fma(-l[lower_at(i, k)], s, step[k]);
        damped = fma(scale[i] * s, s, damped);
        slope = fma(here[pair_at(i, P)], s, slope);
        const double differs = s - past->solved[i];
        turned = fma(scale[i] * differs, s, turned);
        turn = fma(scale[i] * differs, differs, turn);
    }
    const double part = turned / turn;
    const bool known = 0.0 < past->last && past->last <= STRAIGHT && fabs(part) < MOST_TURNED;
    for (int i = 0; i < P; ++i) {
        const double s = step[i], back = past->taken[i] + (s - past->solved[i]);
        past->solved[i] = s;
        past->taken[i] = known ? fma(-part, back, s) : s;
        trial[i] = theta[i] + past->taken[i];
        change = greater(fabs(past->taken[i]) / greater(fabs(theta[i]), TINY), change);
    }
    *predicted = fma(lambda, damped, -slope) * 0.5;
    return fma(*predicted, 0.0, change);
}

/* The change of a step, or of the next where steps shrink steadily. */
FUNCTION double least_change(double change, const struct Past *past, double before, bool *steady)
{
    const double last = past->last, pace = greater(change / last, last / before);
    *steady = last > 0.0 && before > 0.0 && pace < STEADY;
    return *steady ? pace * change : change;
}

FUNCTION void fit(const Job *job, long long index)
{
    const double *columns = job->columns + job->offsets[index / 32] * 32 + index % 32;
    const long long n = job->n_rows[index];
    double here[SUMS], there[SUMS], theta[P], trial[P];
    /* Whether the last step was taken without an evaluation. */
    bool blind = false;
    struct Past past;
    double lambda = FIRST_DAMPING, nu = FIRST_GROWTH, cost = 0.0, predicted = 0.0, change = 0.0;
    /* Change of the step before the last, if both were accepted, else 0. */
    double before = 0.0;
    int status = 0, evaluations = 0;
    bool better = true, steady = false;
    for (int k = 0; k < P; ++k) {
        trial[k] = theta[k] = job->starts[index * P + k];
        past.scale[k] = past.solved[k] = past.taken[k] = 0.0;
    }
    past.last = 0.0;
    for (;;) {
        sums_at(job, columns, n, trial, there);
        ++evaluations;
        const double after = 0.5 * there[SUMS - 1];
        bool finite = true;
        for (int k = 0; k < SUMS; ++k)
            finite = finite && is_number(there[k]);
        if (evaluations == 1) {
            if (!finite) {
                status = (int)NON_FINITE;
                break;
            }
            cost = after;
            if (cost == 0.0)
                status = (int)EXACT_FIT;
        } else {
            const double ratio = (cost - after) / predicted;
            const bool level = predicted <= LEVEL * cost && after <= cost * LEVEL_RISE;
            better = finite && ((ratio > ENOUGH && predicted > 0.0) || level);
            if (better) {
                cost = after;
                const double r = 2.0 * LEAST(ratio, 1.0) - 1.0;
                const double factor
                    = level ? LEAST_FACTOR : greater(1.0 - r * r * r, LEAST_FACTOR);
                lambda = greater(lambda * factor, LEAST_DAMPING);
                nu = FIRST_GROWTH;
            } else {
                lambda = greater(lambda * nu, LEAST_RAISED);
                nu = LEAST(2.0 * nu, MOST_GROWTH);
            }
            if (after == 0.0)
                status = (int)EXACT_FIT;
            else if (better && least_change(change, &past, before, &steady) <= job->xtol)
                status = (int)SMALL_STEP;
            else if (better && predicted <= job->ftol * after)
                status = (int)SMALL_REDUCTION;
            else if (!better && change < HIDDEN)
                status = (int)(predicted <= FLAT * cost ? ROUNDING : NO_PROGRESS);
            else if (lambda > MOST_DAMPING || (!is_number(predicted) && lambda > 1.0))
                status = (int)DAMPING_LIMIT;
            else if (evaluations >= job->most)
                status = (int)EVALUATION_LIMIT;
            before = better ? past.last : 0.0;
            past.last = better ? change : 0.0;
        }
        if (better) {
            for (int k = 0; k < SUMS; ++k)
                here[k] = there[k];
            for (int k = 0; k < P; ++k)
                theta[k] = trial[k];
        }
        if (status)
            break;
        change = next_trial(here, theta, lambda, &past, trial, &predicted);
        /* The last step is taken without an evaluation where that would show nothing. */
        const double least = least_change(change, &past, before, &steady);
        if (least <= job->xtol && change <= SHORT && lambda <= DAMPED && 0.0 <= predicted
            && predicted <= cost * SLIGHT && steady) {
            status = (int)SMALL_STEP;
            cost = cost - predicted;
            blind = true;
            break;
        }
    }
    double *out = job->results + index * (2 * P + SUMS + 3);
    for (int k = 0; k < P; ++k)
        out[k] = blind ? trial[k] : theta[k];
    for (int k = 0; k < SUMS; ++k)
        out[P + k] = status == NON_FINITE ? there[k] : here[k];
    out[P + SUMS] = cost;
    out[P + SUMS + 1] = status;
    out[P + SUMS + 2] = evaluations;
    /* Where the sums are. */
    for (int k = 0; k < P; ++k)
        out[P + SUMS + 3 + k] = theta[k];
}

ENTRY void advance(const Job *job)
{
    const long long team = TEAM_INDEX;
    if (team >= job->n_teams)
        return;
    for (int lane = THREAD; lane < 32; lane += TEAM)
        if (team * 32 + lane < job->n_fits)
            fit(job, team * 32 + lane);
}
