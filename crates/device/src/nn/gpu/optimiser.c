/* What a run knows of itself, in f64; the order of `Status` in nn/gpu/mod.rs. */
enum {
    TICK, UPDATES, SKIPPED, IN_A_ROW, LOSSES, N_LOSSES, LAST_LOSS, LAST_NORM, FACTOR, CORRECT_M, CORRECT_V,
    RATE, PAST, SKIP, LOSS, VALIDATION, N_VALIDATION
};

/* Sums of squares of 1, of 2 numbers, one for each team to 3. */
KERNEL(square_sums)
{
    TEAM_OR_LEAVE();
    double sum = 0.0;
    for EACH (i, COUNT(2)) {
        const double g = AT(const float, 1)[i];
        sum += g * g;
    }
    sum = team_sum(sum);
    if (THREAD == 0)
        AT(double, 3)[team] = sum;
}

/* What the update will be: sums of squares 1, of 2 teams; status 3; longest gradient 4, micro-batches
   5, largest weight of the past 6, betas 7 and 8. A gradient that is not finite skips the update; after
   three in a row no other is made. */
KERNEL(decide)
{
    TEAM_OR_LEAVE();
    const double sum = sum_of_teams(AT(const double, 1), COUNT(2));
    if (THREAD != 0)
        return;
    double *s = AT(double, 3);
    const double count = (double)COUNT(5), norm = sqrt(sum) / count;
    s[LAST_LOSS] = s[LOSS] / count;
    s[LAST_NORM] = norm;
    s[LOSS] = 0.0;
    s[SKIP] = !(norm - norm == 0.0) || s[IN_A_ROW] >= 3.0;
    if (s[SKIP] != 0.0) {
        s[SKIPPED] += 1.0;
        s[IN_A_ROW] += 1.0;
        return;
    }
    s[IN_A_ROW] = 0.0;
    s[LOSSES] += s[LAST_LOSS];
    s[N_LOSSES] += 1.0;
    const double t = s[UPDATES] += 1.0;
    s[FACTOR] = LEAST(NUMBER(4) / norm, 1.0) / count;
    s[CORRECT_M] = 1.0 / (1.0 - pow(NUMBER(7), t));
    s[CORRECT_V] = 1.0 / (1.0 - pow(NUMBER(8), t));
    s[PAST] = LEAST(NUMBER(6), (1.0 + t) / (10.0 + t));
}

/* AdamW: parameters 1, gradient 2, m 3, v 4, average 5 (0: none), status 6, count 7; betas 8 and 9,
   epsilon 10, decay 11. */
KERNEL(adamw)
{
    TEAM_OR_LEAVE();
    const double *s = AT(const double, 6);
    if (s[SKIP] != 0.0)
        return;
    const float b1 = (float)NUMBER(8), c1 = (float)(1.0 - NUMBER(8)), b2 = (float)NUMBER(9);
    const float c2 = (float)(1.0 - NUMBER(9)), epsilon = (float)NUMBER(10), decay = (float)NUMBER(11);
    const float hat1 = (float)s[CORRECT_M], hat2 = (float)s[CORRECT_V], rate = (float)-s[RATE];
    const float factor = (float)s[FACTOR], past = (float)s[PAST];
    for EACH (i, COUNT(7)) {
        const float g = AT(const float, 2)[i] * factor;
        const float m = AT(float, 3)[i] * b1 + g * c1, v = AT(float, 4)[i] * b2 + g * g * c2;
        const float x = AT(float, 1)[i];
        const float step = m * hat1 / (sqrtf(v * hat2) + epsilon) + x * decay;
        const float moved = fmaf(step, rate, x);
        AT(float, 3)[i] = m;
        AT(float, 4)[i] = v;
        AT(float, 1)[i] = moved;
        if (words.w[5])
            AT(float, 5)[i] = past * AT(float, 5)[i] + (1.0f - past) * moved;
    }
}

/* 1 and 2 change places; count 3. */
KERNEL(swap)
{
    TEAM_OR_LEAVE();
    for EACH (i, COUNT(3)) {
        const float x = AT(float, 1)[i];
        AT(float, 1)[i] = AT(float, 2)[i];
        AT(float, 2)[i] = x;
    }
}
