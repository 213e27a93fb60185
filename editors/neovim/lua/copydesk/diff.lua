-- Diffs of what the agent did, as the daemon makes them: a buffer to read, with a key that leads to the line.

local client = require('copydesk.client')
local log = require('copydesk.log')
local render = require('copydesk.render')
local windows = require('copydesk.windows')

local M = {}

local METHOD = '_copydesk/diff'

--- What the words of the command mean.
M.kinds = { 'turn', 'session', 'head' }

local titles = { turn = 'the last turn', session = 'this conversation', head = "Git's HEAD" }
local values = { turn = 'last_turn', session = 'session', head = 'head' }

---@class copydesk.DiffResult
---@field diff string
---@field files { uri: string, kind: string, binary: boolean?, added: integer, removed: integer }[]
---@field added integer
---@field removed integer

--- The file and the row, from 0, that a line of a unified diff speaks of, as the new text has it.
---@param lines string[]
---@param number integer From 1.
---@return integer? file Which of the diff's files, from 1.
---@return integer row
function M.place(lines, number)
  ---@type integer?
  local file
  --- The row of the next line of the new text, and that of the present line of the diff.
  local next_row, here = 0, 0
  local old_left, new_left = 0, 0
  for index = 1, number do
    local line = lines[index]
    local mark = line:sub(1, 1)
    here = next_row
    if mark == '\\' then
      here = math.max(next_row - 1, 0)
    elseif old_left > 0 or new_left > 0 then
      if mark ~= '+' then
        old_left = old_left - 1
      end
      if mark ~= '-' then
        new_left = new_left - 1
        next_row = next_row + 1
      end
    elseif vim.startswith(line, 'diff --git ') then
      file, next_row, here = (file or 0) + 1, 0, 0
    else
      local old, start, new = line:match('^@@ %-%d+,?(%d*) %+(%d+),?(%d*) @@')
      if start then
        old_left, new_left = tonumber(old) or 1, tonumber(new) or 1
        -- Of no lines the one before is named.
        next_row = tonumber(start) - (new_left == 0 and 0 or 1)
        here = next_row
      end
    end
  end
  return file, here
end

---@param result copydesk.DiffResult
---@param name string
---@param mods? string
local function show(result, name, mods)
  local text = result.diff:gsub('\n$', '')
  local lines = vim.split(text, '\n', { plain = true })
  local buffer = windows.scratch(name, lines, 'diff', mods)
  local function go()
    local file, row = M.place(lines, vim.api.nvim_win_get_cursor(0)[1])
    local changed = file and result.files[file]
    if changed and changed.kind == 'deleted' then
      log.tell('the file is not there any more')
    elseif changed and changed.binary then
      log.tell('the file is no text')
    elseif changed then
      windows.show(vim.uri_to_fname(changed.uri), row)
    end
  end
  vim.keymap.set('n', '<CR>', go, { buffer = buffer, desc = 'Copydesk: go to the line' })
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buffer, nowait = true, desc = 'Copydesk: close' })
end

--- Shows a diff of the last turn, of the conversation, or of the files that it touched against Git's HEAD.
---@param kind? 'turn'|'session'|'head'
---@param mods? string Command modifiers.
function M.open(kind, mods)
  kind = kind and kind ~= '' and kind or 'turn'
  local value = values[kind]
  if not value then
    log.tell(('"%s" is no kind of diff: %s'):format(kind, table.concat(M.kinds, ', ')), vim.log.levels.ERROR)
    return
  end
  require('copydesk.session').latest(function(session, problem)
    if not session then
      log.tell(problem or 'there is no diff to show yet; :CopydeskSessions goes on with an earlier conversation')
      return
    end
    client.request(METHOD, { sessionId = session, of = value }, function(err, result)
      if err then
        log.tell('no diff: ' .. client.explain(err, METHOD), vim.log.levels.ERROR)
      elseif result.diff == '' then
        log.tell(('nothing differs: %s'):format(titles[kind]))
      else
        show(result, 'copydesk://diff/' .. kind, mods)
        local count = #result.files == 1 and '1 file' or #result.files .. ' files'
        local sums = ('%s: %s, +%d -%d'):format(titles[kind], count, result.added, result.removed)
        vim.api.nvim_echo({ { sums } }, false, {})
      end
    end)
  end)
end

return M
