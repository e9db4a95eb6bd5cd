// An NVRTC that is none: it has g++ make a library of the text, with the words of this machine, and
// hands its path out as the result. What it says of itself is chosen when it is compiled.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

#ifndef MAJOR
#define MAJOR 12
#endif
#ifndef ARCHS
#define ARCHS 80, 90
#endif
#ifndef HOST_HEADER
#define HOST_HEADER ""
#endif
#ifndef LAUNCHER
#define LAUNCHER ""
#endif
/* What makes the kernels of lists callable, where it is another. */
#ifndef LISTS
#define LISTS LAUNCHER
#endif

static const int archs[] = {ARCHS};
struct Program {
    std::string text, result, log;
    /* Made for a virtual architecture. */
    bool is_ptx = false;
};

extern "C" {
int nvrtcVersion(int *major, int *minor) { return *major = MAJOR, *minor = 9, 0; }
int nvrtcGetNumSupportedArchs(int *n) { return *n = sizeof archs / sizeof *archs, 0; }
int nvrtcGetSupportedArchs(int *out) { return memcpy(out, archs, sizeof archs), 0; }
int nvrtcCreateProgram(void **program, const char *text, const char *, int, const char *const *, const char *const *)
{
    *program = new Program{text, "", "", false};
    return 0;
}
int nvrtcDestroyProgram(void **program) { return delete (Program *)*program, 0; }
int nvrtcCompileProgram(void *p, int n_options, const char *const *options)
{
    auto program = (Program *)p;
    for (int i = 0; i < n_options; ++i)
        program->is_ptx |= strstr(options[i], "=compute_") != nullptr;
    static int n = 0;
    const std::string base = std::string(FOLDER) + "/made" + std::to_string(getpid()) + "-" + std::to_string(n++);
    const size_t common = program->text.find("/* What kernel texts share");
    if (common == std::string::npos) {
        program->log = "kernel.cu(1): error: it does not start as a kernel does";
        return 6;
    }
    const auto has = [&](const char *words) { return program->text.find(words) != std::string::npos; };
    const bool is_list = !has("ENTRY void advance(") && !has("ENTRY void IN_HASTE advance(");
    std::ifstream header(HOST_HEADER), launcher(is_list ? LISTS : LAUNCHER);
    std::ofstream out(base + ".cpp");
    out << header.rdbuf() << "\n" << program->text.substr(common) << "\n" << launcher.rdbuf();
    out << "extern \"C\" { int team_of_text = " << atoi(program->text.c_str() + strlen("#define TEAM ")) << "; }\n";
    out.close();
    const std::string command = "g++ -std=c++17 -O1 -ffp-contract=off -fPIC -shared -w " + base + ".cpp -o " + base + ".so";
    program->result = base + ".so";
    program->log = "ptxas info    : Used 7 registers, 0 bytes cumulative stack size";
    return system(command.c_str()) ? 6 : 0;
}
int nvrtcGetCUBINSize(void *p, size_t *n) { return *n = ((Program *)p)->result.size() + 1, ((Program *)p)->is_ptx; }
int nvrtcGetPTXSize(void *p, size_t *n) { return *n = ((Program *)p)->result.size() + 1, 0; }
int nvrtcGetPTX(void *p, char *out) { return strcpy(out, ((Program *)p)->result.c_str()), 0; }
int nvrtcGetCUBIN(void *p, char *out) { return strcpy(out, ((Program *)p)->result.c_str()), 0; }
int nvrtcGetProgramLogSize(void *p, size_t *n) { return *n = ((Program *)p)->log.size() + 1, 0; }
int nvrtcGetProgramLog(void *p, char *out) { return strcpy(out, ((Program *)p)->log.c_str()), 0; }
}
