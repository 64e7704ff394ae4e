#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What oshrun does with engines that are there and with others, shown by scripts in their place that print their
arguments, one a line; arguments choose classes.  Real engines: tests/multi_host/engines_test.py."""
import os
import pathlib
import resource
import shutil
import socket
import tempfile
import unittest

from launcher import Launcher

OTHER = "atoll-other-host"  # is not this one, and nobody looks it up
SHOW = 'printf "%s\\n" "$0" "$@" "stdin: $(cat)"; exit 5'


class HandOver(Launcher):
    def setUp(self):
        super().setUp()
        self.bin = pathlib.Path(self.tmp.name, "bin")
        self.bin.mkdir()
        # Nothing of this machine but what scripts and jobs use: no engines.
        for tool in ("cat", "echo", "sleep", "true"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.env["PATH"] = str(self.bin)
        self.addCleanup(self.empty)
        for name in [name for name in self.env if name.startswith(("SHMEM_", "SMA_", "FI_", "GLIBC_TUNABLES"))]:
            del self.env[name]

    def empty(self):
        for file in self.bin.iterdir():
            file.unlink()
        self.bin.rmdir()

    def engine(self, name, answer="", show=SHOW):
        """A command that answers the question what it is, and prints anything else."""
        file = self.bin / name
        file.write_text(f"#!/bin/sh\ncase $1 in --version | --mpi=list) printf '%s' '{answer}'; exit ;; esac\n{show}\n")
        file.chmod(0o755)

    def finish(self, process, code, **options):
        out, err = process.communicate(timeout=30, **options)
        self.assertEqual(process.returncode, code, out + err)
        self.assertEqual(os.listdir(self.tmp.name), ["bin"])
        return out, err

    def test_prterun_comes_first_and_gets_its_words(self):
        self.engine("prterun")
        out, err = self.run_job(5, "-n", 3, "-H", f"{OTHER}:1,b:2", "--tag-output", "--bind", "core", "--report-bindings",
                                "-x", "A=b c", "prog", "arg", input="typed")
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        libraries = [f"LD_LIBRARY_PATH={self.env['LD_LIBRARY_PATH']}"] if "LD_LIBRARY_PATH" in self.env else []
        self.assertEqual(out.splitlines(), [
            str(self.bin / "prterun"), *root, "--map-by", "slot:oversubscribe", "--bind-to", "core", "--display", "bindings", "--output",
            "tag", "--host", f"{OTHER}:1,b:2", "-n", "3", "/usr/bin/env", "-C", os.getcwd(),
            "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=8192", *libraries, "A=b c", "prog", "arg", "stdin: typed"])
        self.assertEqual(err, "")

    def test_open_mpi_is_found_beside_another_mpi(self):
        self.engine("mpirun", "HYDRA build details:")
        self.engine("mpirun.openmpi", "mpirun.openmpi (Open MPI) 4.1.4")
        self.assertIn("mpirun.openmpi\n", self.run_job(5, "-H", OTHER, "prog")[0])

    def test_open_mpi_5_takes_the_words_of_prrte(self):
        self.engine("mpirun", "mpirun (Open MPI) 5.0.7")
        self.assertIn("\n--output\ntag\n", self.run_job(5, "-H", OTHER, "--tag-output", "prog")[0])

    def test_no_engine_is_one_line(self):
        for name in ("mpirun", "mpirun.openmpi", "orterun"):
            self.engine(name, "something else")
        out, err = self.run_job(127, "-n", 2, "-H", OTHER, "true")
        self.assertEqual((out, err), ("", "oshrun: nothing here can start PEs on other hosts: prterun is not in PATH; mpirun "
                                      "is not Open MPI's, and others offer no PMIx; mpirun.openmpi is not Open MPI's, and "
                                      "others offer no PMIx; orterun is not Open MPI's, and others offer no PMIx; install "
                                      "Open MPI or PRRTE, or give --launcher local for a job on this host\n"))

    def test_srun_without_pmix_starts_nothing(self):
        self.engine("srun", "MPI plugin types are...\n\tnone\n\tpmi2\n")
        self.assertEqual(self.run_job(127, "--launcher", "srun", "-n", 2, "true"), (
            "", "oshrun: --launcher srun: srun has no PMIx plugin ('srun --mpi=list'); install it, or give another "
            "--launcher\n"))

    def test_an_engine_that_hangs_when_it_is_asked(self):
        # Says all and does not end: the end of its output is what counts.
        self.engine("mpirun", "mpirun (Open MPI) 4.1.4", SHOW)
        script = self.bin / "mpirun"
        script.write_text(script.read_text().replace("exit ;;", "exec >&- 2>&-; exec sleep 1000 ;;"))
        self.assertIn("-n\n1\n", self.run_job(5, "-H", OTHER, "prog")[0])

    def test_an_allocation_of_slurm(self):
        self.engine("srun", "MPI plugin types are...\n\tpmix\n")
        self.env.update(SLURM_JOB_ID="1", SLURM_JOB_NUM_NODES="2", SLURM_JOB_NODELIST="n[1-2]", SLURM_NTASKS="4")
        out, _ = self.run_job(5, "prog")
        self.assertIn("\n--mpi=pmix\n", out)
        self.assertIn("\n--ntasks=4\n--nodes=2\n", out)
        self.env["SLURM_STEP_ID"] = "0"
        self.assertEqual(self.run_job(0, "echo", "here"), ("here\n", ""))
        del self.env["SLURM_STEP_ID"]
        self.env.update(SLURM_JOB_NUM_NODES="1", SLURM_JOB_NODELIST=socket.gethostname(), SLURM_NTASKS="2")
        self.assertEqual(self.run_job(0, "echo", "here"), ("here\n" * 2, ""))

    def test_this_host_needs_no_engine(self):
        for name in ("localhost", socket.gethostname(), "127.0.0.1"):
            self.assertEqual(self.run_job(0, "-H", name + ":2", "echo", "here"), ("here\n" * 2, ""))
        _, err = self.run_job(2, "-n", 3, "-H", "localhost:2", "true")
        self.assertIn("places for 2 processes", err)

    def test_hostfile(self):
        self.engine("prterun")
        file = self.bin / "hosts"
        file.write_text("# two\natoll-a slots=2\natoll-b:1\n")
        self.assertIn("\n--host\natoll-a:2,atoll-b:1\n-n\n3\n", self.run_job(5, "--hostfile", file, "prog")[0])
        self.assertEqual(self.run_job(2, "--hostfile", self.bin / "no", "prog")[1],
                         f"oshrun: --hostfile '{self.bin}/no': No such file or directory; give a file with the name of a "
                         "host in each line\n")
        self.assertIn("Is a directory", self.run_job(2, "--hostfile", self.bin, "prog")[1])
        self.assertEqual(self.run_job(2, "--hostfile", "/dev/zero", "prog")[1],
                         "oshrun: --hostfile '/dev/zero': File too large; give a file with the name of a host in each line\n")

    def test_an_engine_may_open_what_its_processes_need(self):
        for name, answer in (("prterun", ""), ("srun", "MPI plugin types are...\n\tpmix\n")):
            self.engine(name, answer, "ulimit -S -n")
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        for engine, pes, files in (("prterun", 100, min(864, hard)), ("prterun", 4, 200), ("srun", 100, 200)):
            out, _ = self.run_job(0, "--launcher", engine, "-n", pes, "prog",
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard)))
            self.assertEqual(out, f"{files}\n", (engine, pes))

    def test_an_engine_may_open_too_few_files(self):
        for name, answer in (("mpirun", "mpirun (Open MPI) 4.1.4"), ("srun", "MPI plugin types are...\n\tpmix\n")):
            self.engine(name, answer, "ulimit -S -n")
        for engine, said in (("mpirun", "oshrun: mpirun may open 100 files and may need 192 if all processes are on this host; "
                              "raise the hard limit (ulimit -Hn)\n"), ("srun", "")):
            self.assertEqual(self.run_job(0, "--launcher", engine, "-n", 16, "prog",
                                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 100))),
                             ("100\n" if said else "64\n", said))

    def test_a_launcher_by_another_name(self):
        self.engine("prterun")
        self.launcher = shutil.copy(self.launcher, self.bin / "another")
        out, _ = self.run_job(0, "--dry-run", "--timeout", 1, "-H", OTHER, "prog")
        self.assertEqual(out.split()[0], str(self.launcher))

    def test_variables_that_are_not_there(self):
        self.engine("prterun")
        out, err = self.run_job(5, "-H", OTHER, "-x", "NOT_THERE", "prog")
        self.assertEqual(err, "oshrun: -x NOT_THERE: there is no such variable to pass on; ignored\n")
        self.assertNotIn("NOT_THERE", out)

    def test_a_command_that_is_longer_than_the_system_takes(self):
        self.engine("prterun")
        self.env["SHMEM_LONG"] = "x" * 100_000  # travels with each program
        _, err = self.run_job(126, "-H", OTHER + ":100", *["-n", 1, "prog", ":"] * 80, "prog")
        self.assertEqual(err, "oshrun: cannot execute 'prterun': Argument list too long; shorten -x and the arguments, or "
                         "raise the limit of both (a quarter of ulimit -s)\n")

    def test_a_directory_that_has_been_removed(self):
        self.engine("prterun")
        with tempfile.TemporaryDirectory() as folder:
            process = self.start("-H", OTHER, "prog", preexec_fn=lambda: (os.chdir(folder), os.rmdir(folder)))
            os.mkdir(folder)
        self.assertEqual(self.finish(process, 2)[1], "oshrun: the current directory has been removed, and the programs would "
                         "start there; go to another one\n")

    def test_dry_run(self):
        self.engine("prterun")
        out, err = self.run_job(0, "--dry-run", "-H", OTHER, "prog", "a b")
        self.assertEqual((out[:8], out[-6:], out.count("\n"), err), ("prterun ", "'a b'\n", 1, ""))
        out, _ = self.run_job(0, "-n", 2, "--dry-run", "echo", "a b")
        self.assertEqual(out, f"{self.launcher} --launcher local -n 2 echo 'a b'\n")
        self.assertIn("cannot execute", self.run_job(127, "--dry-run", "no_such_program")[1])

    def test_what_is_said_of_hosts_here(self):
        _, err = self.run_job(2, "--launcher", "local", "-H", OTHER, "true")
        self.assertEqual(err, f"oshrun: --launcher local starts PEs on this host only, and '{OTHER}' is another; give "
                         "--launcher auto, srun, prterun or mpirun\n")


if __name__ == "__main__":
    unittest.main()
