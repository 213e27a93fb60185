-- The `:Copydesk…` commands. Nothing of the plugin is loaded, and no process started, before the first of them is used.

if vim.g.loaded_copydesk then
  return
end
vim.g.loaded_copydesk = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.api.nvim_create_user_command('Copydesk', function()
    vim.notify('Copydesk needs Neovim 0.11 or newer.', vim.log.levels.ERROR)
  end, { nargs = '*', range = true })
  return
end

---@param name string
---@param run fun(args: table)
---@param opts? vim.api.keyset.user_command
local function command(name, run, opts)
  vim.api.nvim_create_user_command(name, run, opts or {})
end

---@param kind copydesk.Kind
local function completion(kind)
  return function(lead)
    return require('copydesk.choices').complete(kind, lead)
  end
end

command('Copydesk', function(args)
  local range = args.range > 0 and { args.line1, args.line2 } or nil
  require('copydesk').prompt(args.args, range)
end, { nargs = '*', range = true, desc = 'Prompt Copydesk; with a range, about these lines' })

command('CopydeskChat', function()
  require('copydesk').toggle()
end, { desc = 'Show or hide the conversation' })

command('CopydeskNew', function()
  require('copydesk').new()
end, { desc = 'Begin a new conversation' })

command('CopydeskSessions', function()
  require('copydesk').sessions()
end, { desc = 'Go on with a stored conversation' })

command('CopydeskCancel', function()
  require('copydesk').cancel()
end, { desc = 'Stop the turn that runs' })

command('CopydeskAnswer', function()
  require('copydesk').answer()
end, { desc = 'Answer what Copydesk asks' })

command('CopydeskMode', function(args)
  require('copydesk').choose('mode', args.args)
end, { nargs = '?', complete = completion('mode'), desc = 'Choose the agent' })

command('CopydeskModel', function(args)
  require('copydesk').choose('model', args.args)
end, { nargs = '?', complete = completion('model'), desc = 'Choose the model' })

command('CopydeskPermissionMode', function(args)
  require('copydesk').choose('permission', args.args)
end, { nargs = '?', complete = completion('permission'), desc = 'Choose how much runs without a question' })

command('CopydeskPermissions', function()
  require('copydesk').permissions()
end, { desc = 'List what was allowed, and take it back' })

command('CopydeskNext', function(args)
  require('copydesk').next(args.count > 0 and args.count or 1)
end, { count = 0, desc = 'Go to the next change that is undecided' })

command('CopydeskPrevious', function(args)
  require('copydesk').previous(args.count > 0 and args.count or 1)
end, { count = 0, desc = 'Go to an earlier change that is undecided' })

for name, run in pairs({ Accept = 'accept', Reject = 'reject' }) do
  command('Copydesk' .. name, function(args)
    local range = args.range > 0 and { args.line1, args.line2 } or nil
    require('copydesk')[run](args.args, range)
  end, {
    nargs = '?',
    range = true,
    complete = function(lead)
      return require('copydesk.review').complete(lead)
    end,
    desc = name .. ' the change at the cursor, in the range, of a file, or all',
  })
end

command('CopydeskHunk', function()
  require('copydesk').hunk()
end, { desc = 'Show what the change at the cursor has replaced' })

command('CopydeskChanges', function()
  require('copydesk').changes()
end, { desc = 'List the changes that are undecided' })

command('CopydeskDiff', function(args)
  require('copydesk').diff(args.args, args.mods)
end, {
  nargs = '?',
  complete = function(lead)
    return vim.tbl_filter(function(kind)
      return vim.startswith(kind, lead)
    end, require('copydesk.diff').kinds)
  end,
  desc = "Show a diff of the last turn, of the conversation, or against Git's HEAD",
})

command('CopydeskUndo', function()
  require('copydesk').undo()
end, { desc = 'Take back what the last turn did' })

command('CopydeskRedo', function()
  require('copydesk').redo()
end, { desc = 'Do again what was taken back last' })

---@param name string
---@param normal string|fun()
---@param visual? string
local function plug(name, normal, visual)
  local lhs = ('<Plug>(copydesk-%s)'):format(name)
  vim.keymap.set('n', lhs, normal, { desc = 'Copydesk: ' .. name })
  vim.keymap.set('x', lhs, visual or normal, { desc = 'Copydesk: ' .. name })
end

plug('next', function()
  require('copydesk').next(vim.v.count1)
end)
plug('previous', function()
  require('copydesk').previous(vim.v.count1)
end)
plug('accept', '<Cmd>CopydeskAccept<CR>', ':CopydeskAccept<CR>')
plug('reject', '<Cmd>CopydeskReject<CR>', ':CopydeskReject<CR>')
plug('accept-file', '<Cmd>CopydeskAccept file<CR>')
plug('reject-file', '<Cmd>CopydeskReject file<CR>')
plug('accept-all', '<Cmd>CopydeskAccept all<CR>')
plug('reject-all', '<Cmd>CopydeskReject all<CR>')
plug('hunk', '<Cmd>CopydeskHunk<CR>')
plug('changes', '<Cmd>CopydeskChanges<CR>')
plug('diff', '<Cmd>CopydeskDiff<CR>')
plug('undo', '<Cmd>CopydeskUndo<CR>')
plug('redo', '<Cmd>CopydeskRedo<CR>')

command('CopydeskRestart', function()
  require('copydesk').restart()
end, { desc = 'End the daemon and start it again' })

command('CopydeskLog', function()
  require('copydesk.log').open()
end, { desc = 'Show the log of the plugin and the daemon' })
