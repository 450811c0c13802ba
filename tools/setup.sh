# Shared by ./run and ./test: installs what is missing and builds. Sourced, not executed.
# shellcheck shell=bash disable=SC2034  # lists of packages are for who sources this

build_packages="g++ cmake ninja-build libboost-dev libboost-program-options-dev libeigen3-dev
  libssl-dev nlohmann-json3-dev libsentencepiece-dev libpcre2-dev libutf8proc-dev libedit-dev libntl-dev libgmp-dev
  python3"
# What the unit tests of a folder need.
unit_packages="libgtest-dev librapidcheck-dev"
# What the repository's checks and all unit tests need besides: those of NEON run under an emulator.
quick_packages="clang-format flake8 shellcheck g++-aarch64-linux-gnu qemu-user"
# What proofs and the tests of property_tests/system need besides.
test_packages="openssl curl coq libcoq-mathcomp-ssreflect libcoq-mathcomp-algebra ocaml-nox
  python3-z3 python3-setuptools python3-wheel pkgconf valgrind doxygen git haproxy pandoc
  chromium chromium-driver python3-selenium"
# What trains the attackers of experiments/safety.
experiment_packages="libtorch-dev libopenblas0-pthread"
# For `./test --full`: Prometheus reads the alerts, Slurm runs job arrays, the others build Debian packages.
full_packages="prometheus debhelper lintian slurm-wlm munge"
# What 'slip bench kernels' compares with; it is built without those that are not there.
peer_packages="libopenblas-dev fflas-ffpack libntl-dev libflint-dev libdnnl-dev libeigen3-dev"
# What compiles for sanitizers and fuzzers, in three fifths of the time that g++ takes, and clang-tidy; llvm-19 has
# the symbolizer that gives sanitizers' reports names, without which property_tests/tsan.supp suppresses nothing.
clang_packages="clang-19 libclang-rt-19-dev clang-tidy-19 llvm-19"

say() { printf '\n== %s\n' "$*"; }

# install_missing PACKAGE...: asks dpkg, then apt only if something is missing.
install_missing() {
  local package missing=()
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing from Debian: ${missing[*]}"
  local root=()
  [ "$(id -u)" = 0 ] || root=(sudo)
  "${root[@]}" apt-get update -qq
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

studies=ON  # whether the programs of studies are built
unity=ON    # whether a new folder compiles many files together: faster from scratch, slower after an edit
# build PRESET TESTS(ON|OFF) [TARGET...]: configures and builds in build/PRESET.
build() {
  local preset=$1 tests=$2 choice=(); shift 2
  [ -d "build/$preset" ] || choice=("-DSLIP_UNITY=$unity")
  say "building build/$preset${1:+ ($*)}"
  cmake --preset "$preset" "${choice[@]}" -DSLIP_TESTS="$tests" -DSLIP_STUDIES="$studies" \
    >"build/$preset.configure.log" 2>&1 ||
    { cat "build/$preset.configure.log"; return 1; }
  cmake --build "build/$preset" ${1:+--target "$@"}
}
