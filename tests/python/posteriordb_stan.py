"""Log densities of posteriordb's models by Stan, for tests/posteriordb.rs to compare with.

    python posteriordb_stan.py CHECKOUT OUT [PART OF A NAME]

needs g++ and `pip install httpstan`, of which it takes stanc and the headers; a model takes some
10 seconds. For every posterior it writes OUT/NAME.json: names and shapes of the parameters, and at
a few random points their values with Stan's log density of them (constants kept, no Jacobian).
Points lie within `scale` of 0 on Stan's unconstrained scale, less where it finds no density there.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import httpstan

HERE = pathlib.Path(httpstan.__file__).parent
FLAGS = [
    "-std=c++17", "-O0", "-w", "-DBOOST_DISABLE_ASSERTS", "-DBOOST_PHOENIX_NO_VARIADIC_EXPRESSION",
    "-D_REENTRANT", "-D_GLIBCXX_USE_CXX11_ABI=0", f"-I{HERE / 'include'}",
]
HEADER = """
#include <stan/model/model_header.hpp>
#include <stan/io/json/json_data.hpp>
#include <stan/services/util/create_rng.hpp>
#include <fstream>
#include <iomanip>
#include <iostream>
"""
MAIN = r"""
int main(int argc, char** argv) {
  std::ifstream in(argv[1]);
  stan::json::json_data data(in);
  stan_model model(data, 1, nullptr);
  stan::rng_t rng = stan::services::util::create_rng(1, 0);
  std::vector<std::string> names;
  std::vector<std::vector<size_t>> dims;
  model.get_param_names(names, false, false);
  model.get_dims(dims, false, false);
  std::cout << std::setprecision(17) << "{\"names\": [";
  for (size_t i = 0; i < names.size(); i++) {
    std::cout << (i ? ", [" : "[") << "\"" << names[i] << "\", [";
    for (size_t j = 0; j < dims[i].size(); j++) std::cout << (j ? ", " : "") << dims[i][j];
    std::cout << "]]";
  }
  std::cout << "], \"points\": [";
  unsigned long long s = 88172645463325252ULL;
  double scale = atof(argv[3]);
  int wanted = atoi(argv[2]);
  for (int k = 0, tries = 0; k < wanted && tries < 200; tries++) {
    std::vector<double> x(model.num_params_r()), c;
    std::vector<int> none;
    for (auto& v : x) {
      s ^= s << 13; s ^= s >> 7; s ^= s << 17;
      v = scale * ((s >> 11) * (2.0 / 9007199254740992.0) - 1);
    }
    double lp;
    try {
      std::ostream* no = nullptr;
      std::vector<double> y = x;
      lp = model.log_prob<false, false, double>(y, none, no);
      model.write_array(rng, x, none, c, false, false, no);
    } catch (std::exception& e) {
      continue;
    }
    if (!std::isfinite(lp)) continue;
    std::cout << (k++ ? ",\n " : "") << "{\"lp\": " << lp << ", \"values\": [";
    for (size_t i = 0; i < c.size(); i++) std::cout << (i ? ", " : "") << c[i];
    std::cout << "]}";
  }
  std::cout << "]}\n";
}
"""


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stderr[-1000:]}")
    return done.stdout


def compiled(source, build):
    """The program of a model, made once."""
    program = build / source.stem
    if program.exists():
        return program
    text = run([str(HERE / "stanc"), "--name", "stanm", "--print-cpp", str(source)])
    code = build / f"{source.stem}.cpp"
    code.write_text(f'#include "header.hpp"\n{text}\n{MAIN}')
    libraries = sorted(str(p) for p in (HERE / "lib").glob("libsundials_*.a"))
    libraries += [f"-L{HERE / 'lib'}", "-ltbb", f"-Wl,-rpath,{HERE / 'lib'}"]
    run(["g++", *FLAGS, f"-I{build}", str(code), *libraries, "-o", str(program)])
    code.unlink()
    return program


def points(program, data):
    for scale in ["1", "0.2", "0.02"]:
        out = run([str(program), str(data), "4", scale], timeout=600)
        if len(json.loads(out)["points"]) >= 2:
            return out
    raise RuntimeError("no point has a finite density")


def main():
    root = pathlib.Path(sys.argv[1]) / "posterior_database"
    out = pathlib.Path(sys.argv[2])
    part = sys.argv[3] if len(sys.argv) > 3 else ""
    build = out / "build"
    build.mkdir(parents=True, exist_ok=True)
    header = build / "header.hpp"
    if not (build / "header.hpp.gch").exists():
        header.write_text(HEADER)
        run(["g++", *FLAGS, "-x", "c++-header", str(header), "-o", str(build / "header.hpp.gch")])
    for entry in sorted((root / "posteriors").glob("*.json")):
        posterior = json.loads(entry.read_text())
        target = out / entry.name
        if target.exists() or part not in entry.stem:
            continue
        try:
            packed = root / "data/data" / f"{posterior['data_name']}.json.zip"
            with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(packed) as archive:
                data = archive.extract(archive.namelist()[0], folder)
                source = root / "models/stan" / f"{posterior['model_name']}.stan"
                target.write_text(points(compiled(source, build), data))
            print(entry.stem, flush=True)
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            print(f"{entry.stem}: {error}", flush=True)


if __name__ == "__main__":
    main()
