// The settings of the parts of a server, by its flags.

#pragma once

#include <string_view>

#include "haricot/binlog/binlog_options.hpp"
#include "haricot/service/server_info.hpp"
#include "os/log.hpp"
#include "os/options.hpp"

namespace haricot::os {

// Returns the style of a log on standard error.
LogStyle log_style(const Options& options);
binlog::BinlogOptions binlog_options(const Options& options);
// Returns the settings of the service, with facts about this process. `version` is haricot's.
ServerInfo server_info(const Options& options, std::string_view version);

}  // namespace haricot::os
