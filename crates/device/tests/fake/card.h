// What the driver and the management library say of the same GPUs.
#pragma once

#ifndef COUNT
#define COUNT 1
#endif
#ifndef MEMORY
#define MEMORY (1ull << 30)
#endif
/* Bytes that another program has taken of the first GPU. */
#ifndef TAKEN_0
#define TAKEN_0 0
#endif
