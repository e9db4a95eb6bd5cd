/* The course of a differential equation's solution, in the order of operations of the CPU's: which steps
   are taken, and what is read off between them. */

struct Course {
    int numbers, reads, times, kicks, lanes, most_steps, lane;
    bool stiff;
    double relative, absolute, from;
    const double *at;
    int at_stride;
    const double *kick_at;
    int kick_stride;
};

#define TIME_OF(c, k) (c).at[(k) * (c).at_stride]
#define KICK_OF(c, k) (c).kick_at[(k) * (c).kick_stride]
#define PLACE_OF(c, number, asked) (((number) * (c).times + (asked)) * (c).lanes + (c).lane)
/* Where the numbers of a lane stand, of a state of n numbers: the state, the time, the length of the step,
   then these. */
#define RATE_AT(n) ((n) + 2)
#define ADJOINT_AT(n) (2 * (n) + 2)
#define NEXT_AT(n) (7 * (n) + 2)
#define ERROR_AT(n) (9 * (n) + 2)
#define POLYNOMIAL_AT(n) (9 * (n) + 3)
#define MADE_AT(n) (13 * (n) + 3)

enum { RATE, STEP, WHOLE_STEP };

FUNCTION double first_step(const Course &c, const double *s)
{
    double state = 0.0, rate = 0.0;
    ROLLED for (int k = 0; k < c.numbers; ++k) {
        const double y = s[k], slope = s[RATE_AT(c.numbers) + k];
        const double allowed = c.absolute + c.relative * fabs(y);
        state = state + y / allowed * (y / allowed);
        rate = rate + slope / allowed * (slope / allowed);
    }
    state = sqrt(state / c.numbers);
    rate = sqrt(rate / c.numbers);
    return state < 1e-5 || rate < 1e-5 ? 1e-6 : 0.01 * state / rate;
}

FUNCTION double change_of_step(const Course &c, double error)
{
    double root = sqrt(sqrt(sqrt(error)));
    if (!c.stiff) {
        root = sqrt(root);
        root = root * sqrt(root);
    }
    const double change = 0.9 / root;
    return change >= 10.0 ? 10.0 : change > 0.2 ? change : 0.2;
}

FUNCTION double between(const Course &c, const double *s, int number, double x)
{
    const double *q = s + POLYNOMIAL_AT(c.numbers) + number;
    double sum = q[3 * c.numbers];
    for (int power = 2; power >= 0; --power)
        sum = sum * x + q[power * c.numbers];
    return s[number] + x * sum;
}

/* `run(piece)` works on s, the numbers of the lane; `kick(number, k)` is what is added. */
template <class Run, class Kick>
FUNCTION void solve_ode(const Course &c, Run run, Kick kick, double *s, double *out, double *record)
{
    const int n = c.numbers;
    int asked = 0, kicked = 0, taken = 0, attempts = 10 * c.most_steps;
    double t = c.from, h = 0.0;
    bool is_new = true, failed = false;
    for (;;) {
        ROLLED while (kicked < c.kicks && KICK_OF(c, kicked) <= t) {
            ROLLED for (int k = 0; k < n; ++k)
                s[k] = s[k] + kick(k, kicked);
            ++kicked;
            is_new = true;
        }
        ROLLED while (asked < c.times && TIME_OF(c, asked) <= t) {
            ROLLED for (int k = 0; k < n; ++k)
                out[PLACE_OF(c, k, asked)] = s[k];
            ++asked;
        }
        if (asked == c.times)
            break;
        const double last = TIME_OF(c, c.times - 1);
        const double end = kicked < c.kicks ? LEAST(KICK_OF(c, kicked), last) : last;
        s[n] = t;
        if (is_new) {
            run(RATE);
            h = first_step(c, s);
            is_new = false;
        }
        const bool reaches = t + h * 1.000001 >= end;
        const double tried = reaches ? end - t : h;
        const double after = reaches ? end : t + h;
        failed = !(tried > 1e-14 * fabs(t) && after > t);
        if (failed || taken == c.most_steps || attempts == 0) {
            failed = true;
            break;
        }
        --attempts;
        s[n + 1] = tried;
        run(TIME_OF(c, asked) < after ? WHOLE_STEP : STEP);
        const double error = s[ERROR_AT(c.numbers)];
        const double change = change_of_step(c, error);
        const bool accepted = error <= 1.0;
        if (accepted) {
            double *row = record + 1 + taken * (n + 2);
            row[0] = t;
            row[1] = tried;
            ROLLED for (int k = 0; k < n; ++k)
                row[2 + k] = s[k];
            ++taken;
            ROLLED while (asked < c.times && TIME_OF(c, asked) < after) {
                const double x = (TIME_OF(c, asked) - t) / tried;
                ROLLED for (int k = 0; k < n; ++k)
                    out[PLACE_OF(c, k, asked)] = between(c, s, k, x);
                ++asked;
            }
            ROLLED for (int k = 0; k < n; ++k) {
                s[k] = s[NEXT_AT(c.numbers) + k];
                s[RATE_AT(c.numbers) + k] = s[NEXT_AT(c.numbers) + n + k];
            }
            t = after;
        }
        const double wanted = tried * change;
        h = accepted && reaches && wanted < h ? h : wanted;
    }
    ROLLED for (; asked < c.times; ++asked)
        ROLLED for (int k = 0; k < n; ++k)
            out[PLACE_OF(c, k, asked)] = FROM_BITS(0x7ff8000000000000ull);
    record[0] = failed ? -1.0 : taken;
}

/* `run(whole)` takes the adjoint of a step; `d(k)` is the adjoint of what was asked for. */
template <class Run, class Adjoint>
FUNCTION void adjoint_of_ode(const Course &c, Run run, Adjoint d, double *s, const double *record, double *out)
{
    const int n = c.numbers, all = n * (1 + c.kicks) + c.reads;
    const double fill = record[0] < 0.0 ? FROM_BITS(0x7ff8000000000000ull) : 0.0;
    ROLLED for (int k = 0; k < all; ++k)
        out[k * c.lanes + c.lane] = fill;
    if (record[0] < 0.0 || c.times == 0)
        return;
    const double last = TIME_OF(c, c.times - 1);
    int asked = c.times, kicked = c.kicks, step = (int)record[0];
    ROLLED while (kicked > 0 && KICK_OF(c, kicked - 1) > last)
        --kicked;
    double *g = s + ADJOINT_AT(c.numbers), *q = g + n;
    ROLLED for (int k = 0; k < n; ++k)
        g[k] = 0.0;
    double after = last;
    for (;;) {
        const bool is_start = step == 0;
        ROLLED while (asked > 0 && (is_start || TIME_OF(c, asked - 1) >= after)) {
            --asked;
            ROLLED for (int k = 0; k < n; ++k)
                g[k] = g[k] + d(PLACE_OF(c, k, asked));
        }
        ROLLED while (kicked > 0 && (is_start || KICK_OF(c, kicked - 1) >= after)) {
            --kicked;
            ROLLED for (int k = 0; k < n; ++k)
                out[(n + k * c.kicks + kicked) * c.lanes + c.lane] = g[k];
        }
        if (is_start)
            break;
        --step;
        const double *row = record + 1 + step * (n + 2);
        const double t = row[0], h = row[1];
        s[n] = t;
        s[n + 1] = h;
        ROLLED for (int k = 0; k < n; ++k)
            s[k] = row[2 + k];
        ROLLED for (int k = 0; k < 4 * n; ++k)
            q[k] = 0.0;
        const int first = asked;
        ROLLED while (asked > 0 && TIME_OF(c, asked - 1) > t) {
            --asked;
            const double x = (TIME_OF(c, asked) - t) / h;
            ROLLED for (int k = 0; k < n; ++k) {
                const double by = d(PLACE_OF(c, k, asked));
                double power = x;
                for (int p = 0; p < 4; ++p) {
                    q[p * n + k] = q[p * n + k] + by * power;
                    power = power * x;
                }
            }
        }
        run(asked < first);
        ROLLED for (int k = 0; k < n; ++k) {
            double sum = s[MADE_AT(c.numbers) + k];
            ROLLED for (int at = first - 1; at >= asked; --at)
                sum = sum + d(PLACE_OF(c, k, at));
            g[k] = sum;
        }
        ROLLED for (int k = 0; k < c.reads; ++k) {
            double *to = out + (n * (1 + c.kicks) + k) * c.lanes + c.lane;
            *to = *to + s[MADE_AT(c.numbers) + n + k];
        }
        after = t;
    }
    ROLLED for (int k = 0; k < n; ++k)
        out[k * c.lanes + c.lane] = g[k];
}
