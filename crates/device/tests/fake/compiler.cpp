// An NVRTC that is none: it has g++ make a library of the text, with the words of this machine, and
// hands its path out as the result. What it says of itself is chosen when it is compiled.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MAJOR
#define MAJOR 12
#endif
#ifndef ARCHS
#define ARCHS 80, 90
#endif

/* The folder of this library. Beside it lie `header.c`, `launcher.c`, which makes kernels callable, and, if those
   of lists need another, `lists.c`. */
static std::string beside(const char *name)
{
    Dl_info own;
    dladdr((void *)&beside, &own);
    const std::string path = own.dli_fname;
    return path.substr(0, path.rfind('/') + 1) + name;
}

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
    const std::string base = beside("made") + std::to_string(getpid()) + "-" + std::to_string(n++);
    const size_t common = program->text.find("/* What kernel texts share");
    if (common == std::string::npos) {
        program->log = "kernel.cu(1): error: it does not start as a kernel does";
        return 6;
    }
    const auto has = [&](const char *words) { return program->text.find(words) != std::string::npos; };
    const bool is_list = !has("ENTRY void advance(") && !has("ENTRY void IN_HASTE advance(");
    std::ifstream header(beside("header.c")), launcher(beside("launcher.c")), lists(beside("lists.c"));
    mkdir(base.c_str(), 0700);
    std::ofstream out(base + "/kernel.cpp");
    out << header.rdbuf() << "\n" << program->text.substr(common) << "\n" << (is_list && lists ? lists : launcher).rdbuf();
    out << "extern \"C\" { int team_of_text = " << atoi(program->text.c_str() + strlen("#define TEAM ")) << "; }\n";
    out.close();
    /* In two steps and by names without a folder: a cache of g++'s answers knows them again. */
    const std::string command = "cd " + base + " && g++ -std=c++17 -O1 -ffp-contract=off -fPIC -w -c kernel.cpp -o kernel.o"
                                " && g++ -shared kernel.o -o kernel.so";
    program->result = base + "/kernel.so";
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
