// Short names of the kinds of problems, for tables of expected problems.

#pragma once

#include "haricot/binlog/read/problem.hpp"

namespace haricot::binlog {

inline const char* name_of(Problem::Kind kind) {
  switch (kind) {
    case Problem::Kind::damaged:
      return "damaged";
    case Problem::Kind::job_lost:
      return "job-lost";
    case Problem::Kind::unproven:
      return "unproven";
    case Problem::Kind::torn:
      return "torn";
    case Problem::Kind::late:
      return "file-late";
    case Problem::Kind::unfit:
      return "file-unfit";
    case Problem::Kind::in_doubt:
      return "in-doubt";
  }
  return "";
}

}  // namespace haricot::binlog
