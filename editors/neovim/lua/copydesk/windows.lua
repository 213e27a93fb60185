-- Windows for what is looked at: a file at a row, a text beside the cursor, a diff to read. Whatever is shown, the conversation keeps its own.

local M = {}

--- Whether a file may be shown in the window.
---@param window integer
---@return boolean
local function is_free(window)
  local buffer = vim.api.nvim_win_get_buf(window)
  return vim.api.nvim_win_get_config(window).relative == ''
    and not vim.wo[window].winfixbuf
    and not vim.wo[window].previewwindow
    and vim.bo[buffer].buftype == ''
end

--- The window for a file: the one where it is, this one, another of this tab, or a new one.
---@param buffer integer
local function enter(buffer)
  local here = vim.api.nvim_get_current_win()
  if vim.api.nvim_win_get_buf(here) == buffer then
    return
  end
  local shown = vim.fn.bufwinid(buffer)
  if shown ~= -1 then
    vim.api.nvim_set_current_win(shown)
    return
  end
  if is_free(here) then
    return
  end
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if is_free(window) then
      vim.api.nvim_set_current_win(window)
      return
    end
  end
  vim.cmd('topleft split')
  vim.wo.winfixbuf = false
end

--- Goes to a row of a file, with folds opened and the place before in the jump list.
---@param path string
---@param row integer From 0; beyond the end, the last.
---@return boolean shown
function M.show(path, row)
  local buffer = vim.fn.bufadd(path)
  vim.bo[buffer].buflisted = true
  enter(buffer)
  vim.cmd("normal! m'")
  if vim.api.nvim_get_current_buf() ~= buffer then
    local switched, err = pcall(vim.cmd, { cmd = 'buffer', args = { buffer }, mods = { hide = true } })
    if not switched then
      require('copydesk.log').tell(tostring(err):gsub('^.-(E%d+:)', '%1'), vim.log.levels.ERROR)
      return false
    end
  end
  vim.api.nvim_win_set_cursor(0, { math.min(row + 1, vim.api.nvim_buf_line_count(0)), 0 })
  vim.cmd('normal! ^zv')
  return true
end

--- Shows lines beside the cursor; the next move takes them away.
---@param lines string[]
---@param filetype string
---@return integer window
function M.float(lines, filetype)
  local _, window = vim.lsp.util.open_floating_preview(lines, '', {
    border = 'rounded',
    focus_id = 'copydesk.hunk',
    max_height = math.max(3, math.floor(vim.o.lines / 2)),
    wrap = false,
  })
  vim.bo[vim.api.nvim_win_get_buf(window)].filetype = filetype
  return window
end

--- The buffer of exactly that name, which the user or a restored session may have made, or a new one.
---@param name string
---@return integer buffer
function M.named(name)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(buffer) == name then
      vim.fn.bufload(buffer)
      vim.bo[buffer].buftype = 'nofile'
      vim.bo[buffer].buflisted = false
      vim.bo[buffer].swapfile = false
      return buffer
    end
  end
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, name)
  return buffer
end

--- Shows lines in a buffer of that name, in a window of its own: the one that has it already, or a new one.
---@param name string
---@param lines string[]
---@param filetype string
---@param mods? string Command modifiers, such as "vertical".
---@return integer buffer
function M.scratch(name, lines, filetype, mods)
  local buffer = M.named(name)
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].undolevels = -1
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].modified = false
  vim.bo[buffer].filetype = filetype
  local shown = vim.fn.bufwinid(buffer)
  if shown ~= -1 then
    vim.api.nvim_set_current_win(shown)
    vim.api.nvim_win_set_cursor(shown, { 1, 0 })
    return buffer
  end
  vim.cmd(('%s sbuffer %d'):format(mods or '', buffer))
  vim.wo[0][0].winfixbuf = true
  return buffer
end

return M
