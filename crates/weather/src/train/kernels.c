/* Kernels of forecasts: inputs, the step itself, its loss, and the way back. They follow those of
   networks. CHANNELS, NODES (that are used), PLACES (output nodes), TARGETS (output channels), INSIDE (those that
   are not forced), STATICS, STRIDE (of the linear model; 0: momentum), FORECAST and LOSS_KIND are defined
   before. MASKED is 1 where values are missing: a truth above MISSING is none, and places that are held stay as they
   are. */

enum { FORCINGS = 5, HEADER = 16 };
#define MISSING 1e29f

/* A batch from one of two places that are filled in turn: places 1, a place's length 2, status 3, to
   4. */
KERNEL(take_in)
{
    TEAM_OR_LEAVE();
    const long long turn = (long long)AT(const double, 3)[TICK] % 2;
    const float *from = AT(const float, 1) + turn * COUNT(2);
    for EACH (i, COUNT(2))
        AT(float, 4)[i] = from[i];
}

/* Notes that it was taken: status 1, batch 2. */
KERNEL(taken)
{
    TEAM_OR_LEAVE();
    if (THREAD != 0)
        return;
    AT(double, 1)[RATE] = AT(const float, 2)[0];
    AT(double, 1)[TICK] += 1.0;
}

/* Input 1 of a set of nodes from the states before 2 and now 3 and forcings 4, 5, 6; statics 7, nodes 8,
   of which there are 9, scales of tendencies 10, samples 11. */
KERNEL(feed)
{
    TEAM_OR_LEAVE();
    enum { WIDTH = FORECAST ? 2 * CHANNELS + 3 * FORCINGS + STATICS : 2 * CHANNELS };
    for EACH_ROW (row, COUNT(9) * COUNT(11)) {
        const unsigned node = AT(const unsigned, 8)[row % COUNT(9)];
        const long long at = row / COUNT(9) * NODES + node;
        const float *before = AT(const float, 2) + at * CHANNELS, *now = AT(const float, 3) + at * CHANNELS;
        for (int c = THREAD; c < WIDTH; c += TEAM) {
            float x;
            if (c < CHANNELS)
                x = FORECAST ? (now[c] - before[c]) * AT(const float, 10)[c] : before[c];
            else if (c < 2 * CHANNELS)
                x = now[c - CHANNELS];
            else if (c < 2 * CHANNELS + 3 * FORCINGS) {
                const int k = c - 2 * CHANNELS;
                x = AT(const float, 4 + k / FORCINGS)[at * FORCINGS + k % FORCINGS];
            } else
                x = AT(const float, 7)[node * STATICS + c - 2 * CHANNELS - 3 * FORCINGS];
            AT(float, 1)[row * WIDTH + c] = x;
        }
    }
}

/* Change 1 that a step goes on with, from the states before 2 and now 3: weights 4 of the linear model and
   neighbours 5, or momentum 6; nodes of all samples 7. */
KERNEL(go_on)
{
    TEAM_OR_LEAVE();
    for EACH_ROW (row, COUNT(7)) {
        const long long node = row % NODES, first = row - node;
        for (int c = THREAD; c < CHANNELS; c += TEAM) {
#if STRIDE
            const float *w = AT(const float, 4) + c;
            float sum = w[18 * CHANNELS * STRIDE];
            for (int k = 0; k < 18; ++k) {
                const float *state = k < 9 ? AT(const float, 2) : AT(const float, 3);
                state += (first + AT(const unsigned, 5)[node * 9 + k % 9]) * CHANNELS;
                for (int i = 0; i < CHANNELS; ++i, w += STRIDE)
                    sum += state[i] * *w;
            }
#else
            const long long i = row * CHANNELS + c;
            const float sum = AT(const float, 6)[c] * (AT(const float, 3)[i] - AT(const float, 2)[i]);
#endif
            AT(float, 1)[row * CHANNELS + c] = sum;
        }
    }
}

/* The next state 2 from the output 1 of the network, the state now 3 and the change 4; truth 5; output
   nodes 6, channels 7, weights of nodes 8 and channels 9, mean 10 and deviation 11 of what is left,
   from which heavy rain begins 12 by channel and its weight 13; slope by the state 14 (0: not wanted),
   losses by team 15, numbers 16, batch 17, steps 18, outputs that are held 19. */
KERNEL(forecast)
{
    TEAM_OR_LEAVE();
    const float count = AT(const float, 17)[1];
    const float share = 1.0f / (count * INSIDE * TARGETS);
    double total = 0.0;
    for EACH (i, COUNT(16)) {
        const long long place = i / TARGETS % PLACES, sample = i / ((long long)TARGETS * PLACES);
        const int target = (int)(i % TARGETS);
        const unsigned channel = AT(const unsigned, 7)[target];
        const long long at = (sample * NODES + AT(const unsigned, 6)[place]) * CHANNELS + channel;
        const float of_node = AT(const float, 8)[place], truth = AT(const float, 5)[at];
        const float x = AT(const float, 1)[i], sd = AT(const float, 11)[channel];
        float next = truth;
        if (of_node != 0.0f)
            next = FORECAST ? AT(const float, 3)[at] + AT(const float, 4)[at] + (AT(const float, 10)[channel] + sd * x)
                            : x;
#if MASKED
        if (AT(const unsigned, 19)[i % ((long long)TARGETS * PLACES)])
            next = AT(const float, 3)[at];
#endif
        AT(float, 2)[at] = next;
        if (of_node == 0.0f || (float)sample >= count || (MASKED && truth > MISSING))
            continue;
        float weight = AT(const float, 9)[target] * of_node, scale = 1.0f;
        if (FORECAST)
            scale = 1.0f / sd;
        else if (truth > AT(const float, 12)[channel])
            weight *= (float)NUMBER(13);
        const float r = (next - truth) * scale, size = r < 0.0f ? -r : r;
        const float sign = r > 0.0f ? 1.0f : r < 0.0f ? -1.0f : 0.0f;
        float value, d;
        if (LOSS_KIND == 0) {
            value = r * r;
            d = 2.0f * r;
        } else if (LOSS_KIND == 1 || size > 1.0f) {
            value = LOSS_KIND == 1 ? size : size - 0.5f;
            d = sign;
        } else {
            value = 0.5f * r * r;
            d = r;
        }
        total += weight * value;
        if (words.w[14])
            AT(float, 14)[at] = weight * d * scale * share / COUNT(18);
    }
    total = team_sum(total);
    if (THREAD == 0)
        AT(double, 15)[team] = total;
}

/* Losses by team 1, of 2 teams, to place 3 of the status 4, batch 5, steps 6; for a validation to the
   place after it the windows, too. */
KERNEL(sum_losses)
{
    TEAM_OR_LEAVE();
    const double sum = sum_of_teams(AT(const double, 1), COUNT(2));
    if (THREAD != 0)
        return;
    const double count = AT(const float, 5)[1], loss = sum / (count * INSIDE * TARGETS);
    double *to = AT(double, 4) + COUNT(3);
    if (COUNT(3) == VALIDATION) {
        to[0] += loss * count;
        to[1] += count;
    } else
        to[0] += loss / COUNT(6);
}

/* Slope 1 by the output, and 2 by the next state inside of the boundary, from the slope 3 by the next
   state; output nodes 4, channels 5, weights of nodes 6, deviation 7, numbers 8, outputs that are held 9. */
KERNEL(forecast_back)
{
    TEAM_OR_LEAVE();
    for EACH (i, COUNT(8)) {
        const long long place = i / TARGETS % PLACES, sample = i / ((long long)TARGETS * PLACES);
        const unsigned channel = AT(const unsigned, 5)[i % TARGETS];
        const long long at = (sample * NODES + AT(const unsigned, 4)[place]) * CHANNELS + channel;
        float slope = AT(const float, 6)[place] != 0.0f ? AT(const float, 3)[at] : 0.0f;
#if MASKED
        if (AT(const unsigned, 9)[i % ((long long)TARGETS * PLACES)])
            slope = 0.0f;
#endif
        AT(float, 1)[i] = FORECAST ? slope * AT(const float, 7)[channel] : slope;
        AT(float, 2)[at] = slope;
    }
}

/* Adds what the slope 1 by the next state makes of those by the state before 2 and now 3: weights 4, who
   has a node as which neighbour: starts 5 and entries 6, momentum 7; nodes of all samples 8. */
KERNEL(go_on_back)
{
    TEAM_OR_LEAVE();
    for EACH_ROW (row, COUNT(8)) {
        const long long node = row % NODES, first = row - node;
        for (int c = THREAD; c < CHANNELS; c += TEAM) {
            const long long i = row * CHANNELS + c;
            float before = 0.0f, now = AT(const float, 1)[i];
#if STRIDE
            const unsigned *starts = AT(const unsigned, 5);
            for (unsigned e = starts[node]; e < starts[node + 1]; ++e) {
                const unsigned entry = AT(const unsigned, 6)[e];
                const float *g = AT(const float, 1) + (first + entry / 9) * CHANNELS;
                const float *w = AT(const float, 4) + (entry % 9 * CHANNELS + c) * STRIDE;
                for (int k = 0; k < CHANNELS; ++k) {
                    before += w[k] * g[k];
                    now += w[9 * CHANNELS * STRIDE + k] * g[k];
                }
            }
#else
            const float along = AT(const float, 7)[c] * AT(const float, 1)[i];
            before -= along;
            now += along;
#endif
            AT(float, 2)[i] += before;
            AT(float, 3)[i] += now;
        }
    }
}

/* Adds the slope 1 by the input to those by the state before 2 and now 3: nodes 4, of which there are 5,
   scales of tendencies 6, samples 7. Rolled out are forecasts alone. */
KERNEL(feed_back)
{
    TEAM_OR_LEAVE();
    enum { WIDTH = 2 * CHANNELS + 3 * FORCINGS + STATICS };
    for EACH_ROW (row, COUNT(5) * COUNT(7)) {
        const long long at = row / COUNT(5) * NODES + AT(const unsigned, 4)[row % COUNT(5)];
        for (int c = THREAD; c < CHANNELS; c += TEAM) {
            const float *slope = AT(const float, 1) + row * WIDTH;
            const float along = slope[c] * AT(const float, 6)[c];
            AT(float, 2)[at * CHANNELS + c] -= along;
            AT(float, 3)[at * CHANNELS + c] += slope[CHANNELS + c] + along;
        }
    }
}
